// Measured operator times: curves over the sizes that vary from step to step, one per operator
// shape and kernel source, and how they answer for sizes in between.
//
// A curve is a physical base (floor + FLOPs + bytes + waves, fitted per kernel family) and, at the
// timed points, the ratio of measured time to that base. The ratio is interpolated between points
// and constant outside them: ratios are smooth where times are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "model/curves/operator_shape.hpp"

namespace roofcast {

/// Where a number comes from, best first.
enum class Provenance { measured, interpolated, extended, fitted, datasheet };

std::string_view name_of(Provenance provenance);

// Limits on measured points: wide enough for any accelerator and for a calibrated CPU, narrow
// enough to catch a value in the wrong unit. The reader of profiles and everything that writes
// them enforce these.
inline constexpr double kShortestCall = 1e-9;    // seconds
inline constexpr double kLongestCall = 1e4;      // seconds
inline constexpr double kMaxMeasured = 1e9;      // elements, heads, tokens or sequences
inline constexpr double kLargestMessage = 1e15;  // bytes
inline constexpr int kMaxMeasuredRanks = 4096;   // GPUs of a collective

inline constexpr std::int64_t kQueryTile = 128;  // queries per thread block of FlashAttention

/// One timed size; x and y as in shape_work().
struct MeasuredPoint {
  double x = 0;
  double y = 0;
  Seconds time{};              // median of one call, run back to back
  double relative_spread = 0;  // (p90 - p10) / 2 divided by the median
  int samples = 0;

  bool operator==(const MeasuredPoint&) const = default;
};

/// Coefficients of a kernel family's physical base, none negative.
struct PhysicalTerms {
  Seconds floor{};
  double seconds_per_flop = 0;
  double seconds_per_byte = 0;
  double seconds_per_wave = 0;  // of CTAs over the device's multiprocessors

  bool operator==(const PhysicalTerms&) const = default;
};

/// Precondition of every answer: at least one point, and a base above 0 at each.
struct MeasuredCurve {
  OperatorShape shape{};
  std::string kernel{};  // source: "cuBLASLt 13.1", "roofcast 0.1.0 split-KV"
  PhysicalTerms terms{};
  std::vector<MeasuredPoint> points{};  // ascending by (x, y)
  /// Decode attention in a batch with prefill: time of a tile of one head's queries (kQueryTile)
  /// that a sequence does not fill (model/step/measured_mixer_time.hpp); 0: unknown.
  Seconds empty_tile{};
  /// Decode attention: time per token when one sequence is read alone
  /// (model/step/attention_tail.hpp); 0: unknown.
  Seconds tail_token{};
  /// Attention: whether the times include writing the new keys and values to the cache.
  bool writes_cache = false;
  /// How much longer a call took than in a captured graph; 0: it was timed in one.
  Seconds graph_saving{};
  /// Relative error of answering each point from the others ("leave one out", set_errors()); 0: too
  /// few points.
  double median_error = 0;
  double p90_error = 0;

  bool operator==(const MeasuredCurve&) const = default;
};

/// Best rates and shortest times of a device and its host; 0: not measured.
struct DeviceRates {
  BytesPerSecond copy_bandwidth{};      // device to device, bytes read plus written
  BytesPerSecond read_bandwidth{};      // reads only, of weights or KV
  BytesPerSecond upload_bandwidth{};    // from pageable memory of the host
  BytesPerSecond download_bandwidth{};  // to it
  Seconds kernel_floor{};               // an empty kernel in a graph, back to back
  Seconds eager_launch{};               // host time of one launch outside a graph
  Seconds graph_launch{};  // host time of launching a recorded step, beyond the device's own time
  Seconds engine_step{};   // host time per step of the small engine, without launch: its arrays
                           // to the device, its tokens back

  bool operator==(const DeviceRates&) const = default;
};

/// Everything measured on a device.
struct Measured : DeviceRates {
  std::vector<MeasuredCurve> curves{};
  // Provenance, as shown to a user.
  std::string device{};      // as the device names itself
  std::string identity{};    // UUID
  std::string date{};        // ISO 8601, UTC
  std::string tool{};        // "roofcast 0.1.0"
  std::string protocol{};    // one sentence
  std::string incomplete{};  // why fewer points were timed than planned; empty: none are missing
  std::vector<std::pair<std::string, std::string>> versions{};  // "driver" -> "580.65.06"
  double clock_hz = 0;                  // median over all samples; 0: unknown
  std::int64_t dropped_samples = 0;     // throttled
  std::vector<std::string> rejected{};  // points faster than physically possible, one line each

  bool operator==(const Measured&) const = default;
};

/// Only the physical base. Precondition: x >= 0, y >= 0.
Seconds base_time(const MeasuredCurve& curve, double x, double y, int multiprocessors);

struct CurveAnswer {
  Seconds time{};
  Provenance provenance = Provenance::measured;  // measured, interpolated or extended
  double relative_uncertainty = 0;               // one standard deviation
};

/// The curve's answer at any size. Measured: at a point. Interpolated: the ratio to the base,
/// bilinear in the logarithms of x and y (of x + y in prefill attention, so that a prompt without
/// prefix is not a special case). A GEMM is never interpolated across a power of two if the curve
/// has the point just after it (M = 2^k + 1): libraries change kernels there, so the ratio of the
/// last point before it is used. Extended: outside the timed range, or before such a step without a
/// point at the power of two itself.
///
/// Uncertainty. At a point: its own spread, where (p90 - p10) / 2 is 1.28 standard deviations of a
/// normal. Between points: the curve's leave-one-out error, where p90 is 1.645 standard deviations,
/// or the spread of the points used if that is larger. Extended by d octaves: that times sqrt(1 + 2
/// d). The logarithm of the ratio is modelled as a random walk over log2 of the size: a point left
/// out between neighbours one octave away on both sides has an error variance of half that of one
/// octave, so each octave beyond the last point adds twice the squared leave-one-out error.
/// Precondition: x > 0, and y > 0 in decode attention.
CurveAnswer answer(const MeasuredCurve& curve, double x, double y, int multiprocessors);

/// answer() at point number `left_out` from the other points: from all of them, except that a
/// GEMM's point just after a power of two uses only larger sizes. Precondition: at least two
/// points.
CurveAnswer answer_without(const MeasuredCurve& curve, std::size_t left_out, int multiprocessors);

/// Sets the leave-one-out errors, over the points that others surround; 0 if there are fewer than
/// three of these.
void set_errors(MeasuredCurve& curve, int multiprocessors);

/// The curve of a shape on an engine ("vllm-0.19"; empty: none in particular). Where its own
/// kernels were timed for the shape, those of the version nearest to it
/// (model/curves/curve_source.hpp); of several the fastest (by the product of their time ratios at
/// common points). Null: never timed.
const MeasuredCurve* find_curve(const Measured& measured, const OperatorShape& shape,
                                std::string_view engine = {});

/// The curves that answer for a shape: its own, or the neighbours of one that was never timed.
struct CurveBlend {
  struct Part {
    MeasuredCurve curve{};
    double weight = 1;  // weights sum to 1
    /// Timed products with at least as many outputs and inputs: where they take less, so does the
    /// part. Only in tables of a library (kernel_tables.hpp).
    std::vector<MeasuredCurve> larger{};
  };
  std::vector<Part> parts{};  // empty: no answer
  /// Prefill attention: several prompts in one call of the kernel that answers for one, ascending
  /// by their number.
  std::vector<MeasuredCurve> batches{};
  /// Distance from the nearest timed sizes to the shape's; 0: its own curve or, with several parts,
  /// the corners of the cell of timed sizes around it.
  double octaves = 0;
  bool borrowed = false;  // from another format's kernels with the same arithmetic width
  /// The parts are of another version of the engine than the nearest to the one asked for; one
  /// shape that both were timed with.
  struct VersionPair {
    MeasuredCurve nearest{};  // in the version nearest to the one asked for
    MeasuredCurve theirs{};   // in that of the parts
  };
  std::vector<VersionPair> versions{};
  /// The product with twice as many outputs, four times, ... up to one that was timed: none takes
  /// less than this one. Only in tables of a library.
  std::vector<CurveBlend> wider{};
  OperatorShape shape{};
};

/// First choice: the shape's own curve; where a sliding window was not timed that of full
/// attention, and where attention over an fp8 cache was not timed in its arithmetic that in the
/// other. Then the same sizes in a format that the same kernels run (fp16 and bf16; AWQ and GPTQ as
/// int4). Then, for a GEMM, the four timed (N, K) of the format that are nearest in log2 N + log2
/// K, weighted by the inverse of that distance, and for operators over rows those of the nearest
/// lengths.
CurveBlend find_blend(const Measured& measured, const OperatorShape& shape,
                      std::string_view engine = {});

/// The weighted mean of the parts' ratios, applied to each part's base at the blend's shape; of
/// neighbouring products the geometric mean, so that one that takes several times as long as the
/// others does not prevail. Between the corners of a cell it is as the parts are, at best
/// interpolated; anything else but a shape's own curve is `extended`, by `octaves`; the spread
/// among the parts adds to the uncertainty. No part takes longer than its `larger` products where
/// these were timed, and the answer is no longer than that of any `wider` one. Times of another
/// version are multiplied by the geometric mean of what the `versions` pairs differ by, for experts
/// at as many tokens for each. Precondition: at least one part.
CurveAnswer answer(const CurveBlend& blend, double x, double y, int multiprocessors);

}  // namespace roofcast

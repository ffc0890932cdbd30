// Times of operators as a device was timed: curves over the sizes that vary from step to step, one
// for each operator shape and kernel source, and how they answer for sizes in between.
//
// A curve is a physical base (floor + FLOPs + bytes + waves, fitted per kernel family) and, at the
// timed points, the ratio of measured time to that base. Between points the ratio is interpolated,
// outside the nearest ratio holds: ratios are smooth where times are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "model/curves/operator_shape.hpp"
#include "model/step/provenance.hpp"

namespace roofcast {

/// One timed size; x and y as shape_work() takes them.
struct MeasuredPoint {
  double x = 0;
  double y = 0;
  Seconds time{};              // median of one call, back to back
  double relative_spread = 0;  // (p90 - p10) / 2 over the median
  int samples = 0;

  bool operator==(const MeasuredPoint&) const = default;
};

/// Coefficients of the physical base of a kernel family, none negative.
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
  /// Of decode attention beside prefill: a tile of one head's queries that a sequence does not fill
  /// (model/step/measured_mixer_time.hpp); 0: not known.
  Seconds empty_tile{};
  /// Of decode attention: a token that one sequence reads alone (model/step/attention_tail.hpp); 0:
  /// not known.
  Seconds tail_token{};
  /// Of attention: the times include writing the new keys and values to the cache.
  bool writes_cache = false;
  /// By how much a call took longer than it does in a captured graph; 0: it was timed in one.
  Seconds graph_saving{};
  /// Relative error of answering each point from the others ("leave one out", set_errors());
  /// 0: too few points.
  double median_error = 0;
  double p90_error = 0;

  bool operator==(const MeasuredCurve&) const = default;
};

/// What was measured on a device besides its curves. Rates and times that were not measured are 0.
struct Measured {
  std::vector<MeasuredCurve> curves{};
  BytesPerSecond copy_bandwidth{};      // device to device, bytes read plus written
  BytesPerSecond read_bandwidth{};      // reading alone
  BytesPerSecond upload_bandwidth{};    // host to device
  BytesPerSecond download_bandwidth{};  // device to host
  Seconds kernel_floor{};               // an empty kernel in a graph, back to back
  Seconds eager_launch{};               // host time of one launch outside a graph
  Seconds graph_launch{};               // host time of launching a recorded step
  Seconds engine_step{};                // host time of a step of the small engine, launch excluded
  // Provenance, as shown to a user.
  std::string device{};      // as the device names itself
  std::string identity{};    // UUID
  std::string date{};        // ISO 8601, UTC
  std::string tool{};        // "roofcast 0.1.0"
  std::string protocol{};    // one sentence
  std::string incomplete{};  // why fewer points were timed than planned; empty: none was lost
  std::vector<std::pair<std::string, std::string>> versions{};  // "driver" -> "580.65.06"
  double clock_hz = 0;                  // median over all samples; 0: not known
  std::int64_t dropped_samples = 0;     // throttled
  std::vector<std::string> rejected{};  // points faster than physics, one line each

  bool operator==(const Measured&) const = default;
};

/// The physical base alone. Precondition: x >= 0, y >= 0.
Seconds base_time(const MeasuredCurve& curve, double x, double y, int multiprocessors);

struct CurveAnswer {
  Seconds time{};
  Provenance provenance = Provenance::measured;  // measured, interpolated or extended
  double relative_uncertainty = 0;               // one standard deviation
};

/// The curve's answer at any size. Measured: at a point. Interpolated: the ratio to the base,
/// bilinear in the logarithms of x and y (of x + y in prefill attention, so that a prompt without
/// prefix is no special case). A GEMM is never interpolated across a power of two when the curve
/// has the point just behind it (M = 2^k + 1): libraries change kernels there, and the ratio of the
/// last point before it holds. Extended: outside the timed range, or before such a step without a
/// point at the power of two itself.
///
/// Uncertainty. At a point: its own spread, (p90 - p10) / 2 being 1.28 standard deviations of a
/// normal. Between points: the curve's leave-one-out error, p90 being 1.645 of them, or the spread
/// of the points used where that is more. Extended by d octaves: that times sqrt(1 + 2 d). The
/// logarithm of the ratio is taken for a random walk over log2 of the size: left out between
/// neighbours an octave away on both sides, a point misses by half the variance of one octave, so
/// that each octave beyond the last point adds twice the squared leave-one-out error.
/// Precondition: x > 0, and y > 0 in decode attention.
CurveAnswer answer(const MeasuredCurve& curve, double x, double y, int multiprocessors);

/// answer() at point number `left_out` from the others: from all of them, but a GEMM's point just
/// behind a power of two from the larger sizes. Precondition: two points or more.
CurveAnswer answer_without(const MeasuredCurve& curve, std::size_t left_out, int multiprocessors);

/// Fills in the leave-one-out errors, over the points that the others surround; 0 where there are
/// fewer than three of these.
void set_errors(MeasuredCurve& curve, int multiprocessors);

/// The curve of a shape; the fastest source's where several were timed (by the product of the ratio
/// of their times at common points); null: never timed.
const MeasuredCurve* find_curve(const Measured& measured, const OperatorShape& shape);

/// What answers for a shape: its own curve, or the neighbours of one that was never timed.
struct CurveBlend {
  struct Part {
    MeasuredCurve curve{};
    double weight = 1;  // weights sum to 1
  };
  std::vector<Part> parts{};  // empty: nothing answers
  double octaves = 0;         // from the nearest timed sizes to the shape's; 0: its own curve
  bool borrowed = false;      // another format's kernels, of the same arithmetic width
  OperatorShape shape{};
};

/// Own curve first; then the same sizes in a format that the same kernels run (fp16 and bf16; AWQ
/// and GPTQ as int4); then, for a GEMM, the four timed (N, K) of the format that are nearest in
/// log2 N + log2 K, weighted by the inverse of that distance.
CurveBlend find_blend(const Measured& measured, const OperatorShape& shape);

/// The weighted mean of the parts' ratios, each on its own base at the blend's shape. Anything but
/// a shape's own curve is `extended`, by `octaves`; the spread among the parts adds to the
/// uncertainty. Precondition: at least one part.
CurveAnswer answer(const CurveBlend& blend, double x, double y, int multiprocessors);

}  // namespace roofcast

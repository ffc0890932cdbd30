// Times of operators as a device was timed: curves over the sizes that vary from step to step, one
// for each operator shape and kernel source, and how they answer for sizes in between.
//
// A curve is a physical base (floor + FLOPs + bytes + waves, fitted per kernel family) and, at the
// timed points, the ratio of measured time to that base. Between points the ratio is interpolated,
// outside the nearest ratio holds: ratios are smooth where times are not.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "model/dtype.hpp"
#include "model/roofline.hpp"
#include "model/units.hpp"

namespace roofcast {

/// What stays the same from step to step: the sizes of one rank's operator. Fields that a family
/// does not use keep their defaults, so that equal operators compare equal.
struct OperatorShape {
  OperatorFamily family = OperatorFamily::gemm;
  std::string name{};         // memory_bound: Work::name ("norms", "rope", "activation", ...)
  std::string format{};       // gemm, moe: weight format name
  DType cache = DType::bf16;  // attention: KV element type
  std::int64_t outputs = 0;   // gemm: N; moe: the width of one expert
  std::int64_t inputs = 0;    // gemm: K; moe: the hidden size
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  bool gated = false;            // moe
  std::int64_t query_heads = 0;  // attention
  std::int64_t kv_heads = 0;     // 1 for latent attention
  std::int64_t head_dim = 0;     // of queries and keys; latent + rotary for latent attention
  std::int64_t value_dim = 0;
  int ranks = 1;  // collective
  Exchange exchange = Exchange::all_reduce;

  auto operator<=>(const OperatorShape&) const = default;
};

/// The axes of a family: gemm and moe: x tokens; prefill_attention: x new tokens of one sequence, y
/// tokens cached before; decode_attention: x sequences, y tokens attended by each (the mean);
/// memory_bound and collective: x bytes of one call. y is 0 where there is one axis.
struct MeasuredPoint {
  double x = 0;
  double y = 0;
  Seconds time{};              // median of one call, back to back
  double relative_spread = 0;  // (p90 - p10) / 2 over the median
  int samples = 0;
};

/// Coefficients of the physical base of a kernel family, none negative.
struct PhysicalTerms {
  Seconds floor{};
  double seconds_per_flop = 0;
  double seconds_per_byte = 0;
  double seconds_per_wave = 0;  // of CTAs over the device's multiprocessors
};

struct MeasuredCurve {
  OperatorShape shape{};
  std::string kernel{};  // source: "cuBLASLt 13.1", "roofcast 0.1.0 split-KV"
  PhysicalTerms terms{};
  std::vector<MeasuredPoint> points{};  // ascending by (x, y)
  /// Relative error of answering each point from the others ("leave one out"); 0: too few points.
  double median_error = 0;
  double p90_error = 0;
};

/// What was measured on a device besides its curves.
struct Measured {
  std::vector<MeasuredCurve> curves{};
  BytesPerSecond copy_bandwidth{};      // device to device, bytes read plus written
  BytesPerSecond read_bandwidth{};      // reading alone; 0: not measured
  BytesPerSecond upload_bandwidth{};    // host to device; 0: not measured
  BytesPerSecond download_bandwidth{};  // device to host
  Seconds kernel_floor{};               // an empty kernel in a graph, back to back
  Seconds eager_launch{};               // host time of one launch outside a graph
  Seconds graph_launch{};               // host time of launching a recorded step
  // Provenance, as shown to a user.
  std::string device{};                                         // as the device names itself
  std::string identity{};                                       // UUID
  std::string date{};                                           // ISO 8601, UTC
  std::string tool{};                                           // "roofcast 0.1.0"
  std::string protocol{};                                       // one sentence
  std::vector<std::pair<std::string, std::string>> versions{};  // "driver" -> "580.65.06"
  double clock_hz = 0;                  // median over all samples; 0: not known
  std::int64_t dropped_samples = 0;     // throttled
  std::vector<std::string> rejected{};  // points faster than physics, one line each
};

/// Compulsory work of one call of an operator at a point of its curve: what the base is made of.
struct ShapeWork {
  Flops flops{};
  Bytes bytes{};
  double waves = 0;  // of 128 x 128 output tiles or of (sequence, KV head) pairs, over `units`
};
ShapeWork shape_work(const OperatorShape& shape, double x, double y, int multiprocessors);

/// The physical base alone. Precondition: x >= 0, y >= 0.
Seconds base_time(const MeasuredCurve& curve, double x, double y, int multiprocessors);

struct CurveAnswer {
  Seconds time{};
  Rung rung = Rung::measured;  // measured, interpolated or extended
  double relative_uncertainty = 0;
};

/// The curve's answer at any size. Measured: at a point. Interpolated: bilinear in log2 of the axes
/// on the ratio to the base; a GEMM's M is never interpolated across a power of two when the curve
/// has the point just behind it. Extended: outside the timed range.
CurveAnswer answer(const MeasuredCurve& curve, double x, double y, int multiprocessors);

/// answer() from all points but number `left_out`; for the curve's own error.
CurveAnswer answer_without(const MeasuredCurve& curve, std::size_t left_out, int multiprocessors);

/// The curve of a shape; the fastest source's where several were timed (by the sum of logarithms
/// over their common points); null: never timed.
const MeasuredCurve* find_curve(const Measured& measured, const OperatorShape& shape);

}  // namespace roofcast

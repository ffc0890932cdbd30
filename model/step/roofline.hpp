// One operator on one GPU: the physical lower bound of its time, and the time kernels are expected
// to take. Roofline model: Williams, Waterman, Patterson, CACM 52(4), 2009.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "model/curves/operator_shape.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// Traffic that stays in L2 moves about twice as fast as HBM: RMSNorm of 2048 x 4096 bf16 moves
/// 67 MB in 28 us on an RTX 4090 (1.008 TB/s, 72 MB of L2) and in 16 us on an RTX PRO 6000
/// (1.79 TB/s, 128 MB of L2), 2.4 times the bandwidth of each (LLMServingSim 5daddb2,
/// profiler/perf).
inline constexpr double kCacheSpeedUp = 2.0;

/// The limit that an operator runs into.
enum class Bound { compute, memory, latency, communication };

std::string_view name_of(Bound bound);

/// How an all-to-all carries the tokens of experts. A message has a copy of each token for each
/// rank that it goes to.
struct ExpertExchange {
  /// Share of the message that a rank sends to other nodes, if tokens go there once and are passed
  /// on inside; unset: every copy by itself.
  std::optional<double> off_node{};
  double copies_per_expert = 0;   // copies of the low-latency kernels over those; 0: not used
  bool low_latency_only = false;  // else the faster of both
};

/// The work of one operator in one step on one rank.
struct Work {
  std::string name{};
  OperatorFamily family = OperatorFamily::gemm;
  std::int64_t calls = 1;  // kernels launched; flops and bytes are the total of all calls
  Flops flops{};
  Bytes bytes{};         // read and written, including activations; for a collective, sent
  Bytes stored_bytes{};  // weights and cache among them: in HBM when the step starts
  DType compute = DType::bf16;
  std::string format{};       // weight format name (gemm, moe)
  std::string library{};      // whose kernels, where a profile distinguishes them
  double weight_bits = 16;    // of that format
  DType cache = DType::bf16;  // KV element type (attention)
  double scale = 1;           // the x of the family's efficiency curve: tokens, or bytes per call
  int ranks = 1;              // of a collective
  int stride = 1;             // GPUs from one rank to the next, on which other groups run
  Exchange exchange = Exchange::all_reduce;
  OneShotAllReduce one_shot{};
  ExpertExchange experts{};
};

struct OperatorEstimate {
  Work work{};
  Seconds time{};
  Bound bound = Bound::memory;
  Provenance provenance = Provenance::datasheet;
  /// Whose kernel tables answered: "vLLM 0.24.0"; empty: no tables.
  std::string source{};
  double relative_uncertainty = 0;  // one standard deviation, as a share of `time`
  // Set for the operators of a whole step (RooflineStepTime::explain):
  Seconds roofline{};  // roofline_time() of the work
  Seconds floor{};     // of all calls, if the time is floor + roofline / efficiency
};

struct EfficiencyEstimate;  // model/step/efficiency.hpp

/// One call of an operator at a size on its curve (x, y as in shape_work()).
Work work_of(const OperatorShape& shape, double x, double y);

/// max(flops / peak, bytes / bandwidth): the physical lower bound. Activations that fit in the L2
/// cache need not cross HBM and do not count. Collectives: bytes over the link; between nodes, what
/// a node must send over all its NICs.
Seconds physical_limit(const Work& work, const Gpu& gpu);

/// The time that the efficiency divides: max(flops / peak, bytes / bandwidth) with activations in
/// the L2 cache at its rate. Collectives: physical_limit().
Seconds roofline_time(const Work& work, const Gpu& gpu);

/// The limit of work that takes `time`, of which `fixed` is independent of its size.
Bound bound_of(const Work& work, const Gpu& gpu, Seconds time, Seconds fixed);

// Share of the stated limits up to which a timed point is accepted.
inline constexpr double kAboveStatedLimits = 1.10;

/// Whether a timed point is faster than physically possible, and so was not timed as it runs in
/// serving (weights or cache left in L2, an operator that did not run). Peaks are stated at a boost
/// clock and bandwidths are rounded, so 10 % is tolerated: an H200's SMs may run at 1.98 GHz where
/// the peak is stated at 1.83 GHz.
bool beats_physics(const OperatorShape& shape, const MeasuredPoint& point, const Gpu& gpu);

/// Expected time: a fixed time per call, plus the roofline divided by the efficiency after that
/// (model/step/efficiency.hpp). Never below physical_limit. Throws Error if a collective runs on a
/// GPU without any link.
OperatorEstimate estimate(const Work& work, const Gpu& gpu);

/// The same for callers that keep the EfficiencyEstimate between calls, and its time alone.
OperatorEstimate estimate(const Work& work, const Gpu& gpu, const EfficiencyEstimate& efficiency);
Seconds expected_time(const Work& work, const Gpu& gpu, const EfficiencyEstimate& efficiency);

/// Arithmetic intensity at which a GPU changes from memory-bound to compute-bound.
FlopsPerByte ridge_point(const Gpu& gpu, DType compute);

}  // namespace roofcast

// How a deployment is distributed over GPUs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ceil_divide.hpp"

namespace roofcast {

/// The largest degree of one kind; more is an input error.
inline constexpr int kMaxDegree = 4096;

/// Heads or groups per rank: at least one, and the largest share if TP does not divide them.
inline std::int64_t heads_per_rank(std::int64_t heads, int tensor) {
  return heads == 0 ? 0 : std::max<std::int64_t>(1, ceil_divide(heads, tensor));
}

/// Degrees of parallelism of one replica, by the engines' names. Routed experts are always spread
/// over all tp * cp * dp ranks of a stage (vLLM documentation, "Data Parallel Deployment"; 0.27,
/// fused_moe/config.py, FusedMoEParallelConfig.make): whole experts if `expert_parallel`, else each
/// expert's width.
struct Parallelism {
  int tensor = 1;    // TP: every matrix split over this many GPUs
  int pipeline = 1;  // PP: layers split into this many stages
  int data = 1;      // DP: independent attention/KV ranks behind one endpoint
  /// CP: ranks that divide the new tokens of each prompt, each with a copy of weights other than
  /// experts and of the whole cache (vLLM's PCP, SGLang's attn_cp_size).
  int context = 1;
  bool expert_parallel = false;
  /// Copies of experts beyond one of each, spread over the expert ranks with them so that the most
  /// picked have several (vLLM's and SGLang's EPLB). Takes effect with `expert_parallel` alone.
  int redundant_experts = 0;

  int gpus() const { return tensor * pipeline * data * context; }
  /// Ranks of a stage over which the experts of a layer are spread.
  int stage_ranks() const { return tensor * context * data; }
  /// Ranks over which whole experts of one layer are divided.
  int expert_ranks() const { return expert_parallel ? stage_ranks() : 1; }
  /// Ranks over which the width of one expert is divided.
  int expert_width_ranks() const { return expert_parallel ? 1 : stage_ranks(); }

  bool operator==(const Parallelism&) const = default;
};

/// Calls visit("TP", 2) for each degree above 1. Experts are not a degree.
template <class Visit>
void visit_short_degrees(const Parallelism& parallel, Visit visit) {
  if (parallel.tensor > 1) visit("TP", parallel.tensor);
  if (parallel.pipeline > 1) visit("PP", parallel.pipeline);
  if (parallel.data > 1) visit("DP", parallel.data);
  if (parallel.context > 1) visit("PCP", parallel.context);
}

}  // namespace roofcast

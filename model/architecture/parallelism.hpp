// How a deployment is distributed over GPUs.
#pragma once

namespace roofcast {

/// Degrees of parallelism of one replica, by the engines' names. Routed experts are always spread
/// over all tp * dp ranks of a stage (vLLM documentation, "Data Parallel Deployment"): whole
/// experts if `expert_parallel`, else each expert's width.
struct Parallelism {
  int tensor = 1;    // TP: every matrix split over this many GPUs
  int pipeline = 1;  // PP: layers split into this many stages
  int data = 1;      // DP: independent attention/KV ranks behind one endpoint
  bool expert_parallel = false;

  int gpus() const { return tensor * pipeline * data; }
  /// Ranks over which whole experts of one layer are divided.
  int expert_ranks() const { return expert_parallel ? tensor * data : 1; }
  /// Ranks over which the width of one expert is divided.
  int expert_width_ranks() const { return expert_parallel ? 1 : tensor * data; }

  bool operator==(const Parallelism&) const = default;
};

}  // namespace roofcast

// How one deployment is spread over GPUs.
#pragma once

namespace roofcast {

/// Degrees of parallelism of one replica, as the engines name them. Routed experts always spread
/// over all tp * dp ranks of a stage (vLLM documentation, "Data Parallel Deployment"): whole
/// experts when `expert_parallel`, else each expert's width.
struct Parallelism {
  int tensor = 1;    // TP: every matrix split over this many GPUs
  int pipeline = 1;  // PP: layers split into this many stages
  int data = 1;      // DP: independent attention/KV ranks behind one endpoint
  bool expert_parallel = false;

  int gpus() const { return tensor * pipeline * data; }
  /// Ranks that whole experts of one layer are divided among.
  int expert_ranks() const { return expert_parallel ? tensor * data : 1; }
  /// Ranks that the width of one expert is divided among.
  int expert_width_ranks() const { return expert_parallel ? 1 : tensor * data; }

  bool operator==(const Parallelism&) const = default;
};

}  // namespace roofcast

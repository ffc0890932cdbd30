// How one deployment is spread over GPUs.
#pragma once

namespace roofcast {

/// Degrees of parallelism of one replica, as the engines name them. Experts are sharded over
/// tp * dp ranks when `expert_parallel`, else each expert is split by `tp`.
struct Parallelism {
  int tensor = 1;    // TP: every matrix split over this many GPUs
  int pipeline = 1;  // PP: layers split into this many stages
  int data = 1;      // DP: independent attention/KV ranks behind one endpoint
  bool expert_parallel = false;

  int gpus() const { return tensor * pipeline * data; }
  /// Ranks that the experts of one layer are divided among.
  int expert_ranks() const { return expert_parallel ? tensor * data : 1; }

  bool operator==(const Parallelism&) const = default;
};

}  // namespace roofcast

// The first stage of TensorRT-LLM's scheduler: which requests may be active, given the KV blocks
// (cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp, with the block counts of
// kvCacheManager.cpp). The second, tensorrt_micro_batch.hpp, decides which of them run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// A request that may run in this step, in the order in which the micro-batch looks at it.
struct AdmissionCandidate {
  RequestId request = 0;
  bool generation = false;  // adds one token; if false, a prompt or the rest of one
  bool waiting = false;     // not started yet
  std::int64_t wanted = 0;  // tokens it would compute; cached blocks are found when it starts
  std::int64_t cached = 0;  // of these, those that it need not (counts_cached)
  std::int64_t tokens = 0;  // tokens it gets, decided by the micro-batch scheduler

  /// Tokens that a chunk of `chunk` tokens computes: cached ones shift it, and shorten only what
  /// then reaches the prompt's end (_reuse_adjusted_compute).
  std::int64_t computes(std::int64_t chunk) const {
    return cached + chunk < wanted ? chunk : std::min(chunk, wanted - cached);
  }
};

/// Result of the capacity scheduler. Reused from step to step.
struct Candidates {
  std::vector<AdmissionCandidate> fitting{};
  /// The waiting requests it looked at, in order: taken from the queue, to be put back when they do
  /// not start.
  std::vector<RequestId> looked_at{};

  void clear() {
    fitting.clear();
    looked_at.clear();
  }
};

/// The requests that fit, by the engine's capacity policy:
/// - GUARANTEED_NO_EVICT: running requests can finish, since the blocks for that are reserved.
///   Waiting requests are added while their prompt and output fit into the rest; the first that
///   does not fit ends the search.
/// - MAX_UTILIZATION: reserves blocks for the next step only. When they run out, the request that
///   started last is paused (into `plan.preempted`) and releases its blocks; nothing starts in that
///   step.
/// - STATIC_BATCH: as no-evict, but nothing starts while any request generates.
/// Except with STATIC_BATCH, a request is passed over while another one computes the first block of
/// its prompt that is not cached: it will find that block later. At most max_num_seqs requests are
/// active, including those passed over (the PyTorch backend fetches no more).
void find_candidates(EngineState& state, StepPlan& plan, Candidates& candidates);

}  // namespace roofcast

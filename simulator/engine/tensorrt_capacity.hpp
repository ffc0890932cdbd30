// The first stage of TensorRT-LLM's scheduler: which requests may be active, given the KV blocks
// (cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp, with the block counts of
// kvCacheManager.cpp). The second, tensorrt_micro_batch.hpp, decides who of them runs.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// A request that may run in this step, in the order in which the micro-batch looks at it.
struct AdmissionCandidate {
  RequestId request = 0;
  bool generation = false;  // goes on by one token; else a prompt, or what is left of it
  bool waiting = false;     // not started yet
  std::int64_t wanted = 0;  // tokens it would compute; cached blocks are found when it starts
  std::int64_t tokens = 0;  // tokens it gets: the micro-batch's answer
};

/// What the capacity scheduler says. Reused from step to step.
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
/// - GUARANTEED_NO_EVICT: what runs may run to its end, blocks for that being spoken for; waiting
///   requests come in while their whole need, prompt and output, fits beside. The first that does
///   not ends the search.
/// - MAX_UTILIZATION: blocks for the next step alone. When they run out, the request that started
///   last is paused (into `plan.preempted`) and gives its blocks back; nothing starts in that step.
/// - STATIC_BATCH: as no-evict, but nothing starts while any request generates.
/// But for STATIC_BATCH, a request is passed over while the first block of its prompt that is not
/// cached is being produced by another one: it will find it later. At most max_num_seqs requests
/// are active, those passed over included (the PyTorch backend fetches no more).
void find_candidates(EngineState& state, StepPlan& plan, Candidates& candidates);

}  // namespace roofcast

#include "simulator/engine/tensorrt_capacity.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>
#include <span>
#include <unordered_set>

#include "simulator/engine/block_prefix.hpp"

namespace roofcast {
namespace {

/// Prompt blocks being computed or about to be: requests that need one should wait for it.
class BlocksInProduction {
 public:
  explicit BlocksInProduction(EngineState& state) : state_(state) {
    // With several groups of layers a found block may not be usable (isVariableWindow there).
    relevant_ = state.blocks.layout().groups.size() == 1 &&
                state.engine.capacity_scheduler_policy != CapacityPolicy::static_batch;
    if (!relevant_) return;
    for (RequestId id : state.running) {
      const RequestState& request = state[id];
      if (request.complete() || request.decoding()) continue;
      if (const auto key = first_new_block(id)) keys_.insert(*key);
    }
  }

  /// Whether another request computes the first block that this one would; if not, this request is
  /// now registered as computing it.
  bool worth_waiting_for(RequestId id) {
    if (!relevant_ || state_[id].received > 0) return false;
    const auto key = first_new_block(id);
    return key && !keys_.insert(*key).second;
  }

 private:
  std::optional<BlockKey> first_new_block(RequestId id) {
    find_prefix(state_, id);  // computes the keys on first use
    const std::vector<BlockKey>& keys = state_[id].keys;
    const auto cached = static_cast<std::size_t>(state_.blocks.find(keys).blocks);
    if (cached == keys.size()) return std::nullopt;
    return keys[cached];
  }

  EngineState& state_;
  bool relevant_ = false;
  std::unordered_set<BlockKey> keys_;
};

AdmissionCandidate candidate_of(const EngineState& state, RequestId id, bool waiting) {
  const RequestState& request = state[id];
  const bool generation = request.decoding();
  const std::int64_t drafts = generation ? state.engine.speculation.draft_tokens : 0;
  return {.request = id,
          .generation = generation,
          .waiting = waiting,
          .wanted = request.tokens() - std::max(request.computed, request.received) + drafts};
}

/// Blocks until the request is done at the latest: those of prompt and max_tokens, minus those it
/// holds (getRemainingBlocksToCompletion).
std::int64_t blocks_to_completion(const EngineState& state, const RequestState& request) {
  const std::int64_t whole = state.blocks.max_needed(request.input_tokens + request.max_tokens +
                                                     decode_slots(state.engine) - 1);
  return std::max<std::int64_t>(0, whole - request.kv.blocks);
}

/// The prefix that a waiting request finds cached, if that counts before it starts (since 1.3:
/// NVIDIA/TensorRT-LLM pulls 11490 and 11637, February 2026). All of it spares tokens; of its
/// blocks only those that others hold are spared, since it takes the others from the free ones.
struct CachedPrefix {
  std::int64_t tokens = 0;
  std::int64_t blocks = 0;
};

CachedPrefix cached_prefix(EngineState& state, RequestId id) {
  const bool one_group = state.blocks.layout().groups.size() == 1;
  if (!state.engine.counts_cached || !one_group || state[id].received > 0) return {};
  const PrefixHit hit = find_prefix(state, id);
  return {.tokens = hit.tokens, .blocks = state.blocks.rows_of(hit.blocks) - hit.blocks.free};
}

/// Blocks of the next step alone: a generation's next token, or a prompt from its first chunk on
/// (getNeededBlocksOneStep).
std::int64_t blocks_of_step(const EngineState& state, const AdmissionCandidate& candidate) {
  const RequestState& request = state[candidate.request];
  const std::int64_t in_flight = std::min(candidate.wanted, state.engine.max_num_batched_tokens);
  const std::int64_t drafts = candidate.generation ? state.engine.speculation.draft_tokens : 0;
  const std::int64_t needed = state.blocks.needed(request.tokens() + drafts, in_flight);
  return std::max<std::int64_t>(0, needed - request.kv.blocks);
}

/// Takes waiting requests, in order, as long as the `need` of each fits the blocks left.
template <class Need>
void look_at_waiting(EngineState& state, std::int64_t available, Candidates& candidates,
                     const Need& need) {
  BlocksInProduction production(state);
  // max_batch_size holds for each micro-batch (1.0, py_executor_creator.py: the capacity scheduler
  // gets max_batch_size * pp_size).
  const auto places = static_cast<std::size_t>(state.engine.max_num_seqs * state.micro_batches);
  while (!state.waiting.empty() && state.running.size() + candidates.looked_at.size() < places) {
    const RequestId id = state.waiting.front();
    AdmissionCandidate candidate = candidate_of(state, id, true);
    state.waiting.pop_front();
    candidates.looked_at.push_back(id);
    if (production.worth_waiting_for(id)) continue;
    const CachedPrefix cached = cached_prefix(state, id);
    candidate.cached = cached.tokens;
    const std::int64_t blocks = std::max<std::int64_t>(0, need(candidate) - cached.blocks);
    if (blocks > available) return;
    available -= blocks;
    candidates.fitting.push_back(candidate);
  }
}

/// Adds the running requests that generate, or those with unfinished prompts; returns the blocks
/// reserved for them.
std::int64_t add_running(const EngineState& state, bool generations, Candidates& candidates) {
  std::int64_t blocks = 0;
  for (RequestId id : state.running) {
    const RequestState& request = state[id];
    if (request.complete() || request.decoding() != generations) continue;
    blocks += blocks_to_completion(state, request);
    if (state.awaits_token(request)) continue;
    candidates.fitting.push_back(candidate_of(state, id, false));
  }
  return blocks;
}

/// GUARANTEED_NO_EVICT and STATIC_BATCH.
void reserve_to_completion(EngineState& state, Candidates& candidates) {
  std::int64_t available = state.blocks.free() - add_running(state, true, candidates);
  const bool generating = std::ranges::any_of(
      state.running, [&](RequestId id) { return !state[id].complete() && state[id].decoding(); });
  if (generating && state.engine.capacity_scheduler_policy == CapacityPolicy::static_batch) return;
  available -= add_running(state, false, candidates);
  assert(available >= 0);
  look_at_waiting(state, available, candidates, [&](const AdmissionCandidate& candidate) {
    return blocks_to_completion(state, state[candidate.request]);
  });
}

/// Pauses and returns the running request that started last. Skips requests whose last token is
/// being sampled and, in a pipeline, those that await one.
RequestId pause_last_started(EngineState& state, StepPlan& plan) {
  std::vector<RequestId>& running = state.running;
  const auto last = std::find_if(running.rbegin(), running.rend(),
                                 [&](RequestId id) { return state.can_run(state[id]); });
  assert(last != running.rend());
  const RequestId id = *last;
  running.erase(std::next(last).base());
  preempt(state, id);
  plan.preempted.push_back(id);
  return id;
}

/// MAX_UTILIZATION: first running requests in the order in which they started, then waiting ones.
void use_what_is_free(EngineState& state, StepPlan& plan, Candidates& candidates) {
  std::int64_t taken = 0;  // free blocks taken by this step
  for (std::size_t at = 0; at < state.running.size();) {
    const RequestId id = state.running[at];
    if (!state.can_run(state[id])) {
      ++at;
      continue;
    }
    const AdmissionCandidate candidate = candidate_of(state, id, false);
    const std::int64_t blocks = blocks_of_step(state, candidate);
    if (taken + blocks <= state.blocks.free()) {
      taken += blocks;
      candidates.fitting.push_back(candidate);
      ++at;
    } else if (pause_last_started(state, plan) == id) {
      return;
    }
  }
  if (!plan.preempted.empty()) return;
  look_at_waiting(
      state, state.blocks.free() - taken, candidates,
      [&](const AdmissionCandidate& candidate) { return blocks_of_step(state, candidate); });
}

}  // namespace

void find_candidates(EngineState& state, StepPlan& plan, Candidates& candidates) {
  candidates.clear();
  if (state.engine.capacity_scheduler_policy == CapacityPolicy::max_utilization) {
    use_what_is_free(state, plan, candidates);
  } else {
    reserve_to_completion(state, candidates);
  }
}

}  // namespace roofcast

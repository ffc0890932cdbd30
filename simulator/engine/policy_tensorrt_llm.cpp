#include "simulator/engine/policy_tensorrt_llm.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "simulator/engine/block_prefix.hpp"
#include "simulator/engine/tensorrt_micro_batch.hpp"

namespace roofcast {

void TensorrtLlmPolicy::schedule(EngineState& state, Nanoseconds, StepPlan& plan) {
  share_computed_prompts(state);
  find_candidates(state, plan, candidates_);
  share_tokens(state.engine, state.blocks.layout().block_tokens, candidates_.fitting);
  for (AdmissionCandidate& candidate : candidates_.fitting) {
    if (candidate.tokens == 0) continue;
    if (candidate.waiting) start(state, candidate, plan);
    run(state, candidate, plan);
  }
  put_back(state, plan);
}

std::optional<bool> TensorrtLlmPolicy::schedule_around(EngineState& state, Nanoseconds,
                                                       const DecodeLoad& load, StepPlan&) {
  share_computed_prompts(state);
  const bool full = std::cmp_greater_equal(state.running.size(), state.engine.max_num_seqs);
  const bool closed = state.engine.capacity_policy == CapacityPolicy::static_batch;
  if (!state.waiting.empty() && !full && !closed) return std::nullopt;
  return decode_alone(state, load);
}

/// Makes prompts whose last step has ended reusable. Requests that no longer run have already
/// returned their blocks.
void TensorrtLlmPolicy::share_computed_prompts(EngineState& state) {
  const auto runs = [&](RequestId id) {
    return std::find(state.running.begin(), state.running.end(), id) != state.running.end();
  };
  std::erase_if(ending_, [&](const Prompt& prompt) {
    if (!runs(prompt.request)) return true;
    if (state[prompt.request].emitted < prompt.emitted) return false;
    share_full_blocks(state, prompt.request, prompt.tokens);
    return true;
  });
}

/// A waiting request comes in. What it finds cached shortens its chunk, which was decided without.
void TensorrtLlmPolicy::start(EngineState& state, AdmissionCandidate& candidate, StepPlan& plan) {
  const RequestId id = candidate.request;
  RequestState& request = state[id];
  take_prefix(state, id, request.received > 0 ? PrefixHit{} : find_prefix(state, id));
  request.computed = std::max(request.computed, request.received);
  candidate.tokens = std::min(candidate.tokens, request.uncomputed());
  state.running.push_back(id);
  plan.admitted.push_back(id);
}

void TensorrtLlmPolicy::run(EngineState& state, const AdmissionCandidate& candidate,
                            StepPlan& plan) {
  const RequestId id = candidate.request;
  RequestState& request = state[id];
  const bool grown = state.blocks.grow(request.kv, request.tokens(), candidate.tokens);
  assert(grown);  // ensured by the capacity scheduler
  static_cast<void>(grown);
  plan.scheduled.push_back({id, candidate.tokens});
  const bool ends_prompt = !candidate.generation && candidate.tokens == request.uncomputed();
  if (ends_prompt && !request.keys.empty()) {
    ending_.push_back(
        {.request = id, .tokens = request.tokens(), .emitted = request.generated + 1});
  }
}

/// Returns the waiting requests that were visited but did not start to their places in the queue.
void TensorrtLlmPolicy::put_back(EngineState& state, const StepPlan& plan) const {
  auto started = plan.admitted.rbegin();  // in the order in which they were visited
  for (auto id = candidates_.looked_at.rbegin(); id != candidates_.looked_at.rend(); ++id) {
    if (started != plan.admitted.rend() && *started == *id) {
      ++started;
    } else {
      state.waiting.push_front(*id, state[*id].priority);
    }
  }
}

void TensorrtLlmPolicy::finish(EngineState& state, RequestId id) {
  share_full_blocks(state, id, state[id].computed);
  share_generated_blocks(state, id);
  state.blocks.release(state[id].kv);
}

std::int64_t TensorrtLlmPolicy::cached_tokens(const EngineState& state, RequestId id) const {
  return cached_prompt_tokens(state, id);
}

}  // namespace roofcast

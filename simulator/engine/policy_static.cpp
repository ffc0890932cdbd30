#include "simulator/engine/policy_static.hpp"

#include <cassert>

namespace roofcast {
namespace {

void run(EngineState& state, RequestId id, StepPlan& plan) {
  RequestState& request = state[id];
  const std::int64_t tokens = request.uncomputed();
  const bool grown = state.blocks.grow(request.kv, request.tokens(), tokens);
  assert(grown);  // reserved when the batch was formed
  static_cast<void>(grown);
  plan.scheduled.push_back({id, tokens});
}

/// Forms the next batch: waiting requests in order, up to the first that does not fit.
void start_batch(EngineState& state, StepPlan& plan) {
  const auto places = static_cast<std::size_t>(state.engine.max_num_seqs);
  std::int64_t budget = state.engine.max_num_batched_tokens;
  std::int64_t available = state.blocks.free();
  while (!state.waiting.empty() && state.running.size() < places) {
    const RequestId id = state.waiting.front();
    RequestState& request = state[id];
    const std::int64_t tokens = request.tokens() - request.received;
    const std::int64_t blocks = state.blocks.max_needed(request.input_tokens + request.max_tokens);
    if (tokens > budget || blocks > available) return;
    budget -= tokens;
    available -= blocks;
    state.waiting.pop_front();
    request.computed = request.received;
    state.running.push_back(id);
    plan.admitted.push_back(id);
  }
}

}  // namespace

void StaticBatchPolicy::schedule(EngineState& state, Nanoseconds, StepPlan& plan) {
  if (state.running.empty()) start_batch(state, plan);
  for (RequestId id : state.running) {
    if (!state[id].complete()) run(state, id, plan);
  }
}

std::optional<bool> StaticBatchPolicy::schedule_around(EngineState& state, Nanoseconds,
                                                       const DecodeLoad& load, StepPlan&) {
  return decode_alone(state, load);
}

void StaticBatchPolicy::finish(EngineState& state, RequestId id) {
  state.blocks.release(state[id].kv);
}

}  // namespace roofcast

#include "simulator/engine/policy_vllm_v1.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace roofcast {
namespace {

/// Tokens of one request that a step may compute, before the budget.
std::int64_t wanted_tokens(const Engine& engine, const RequestState& request) {
  const std::int64_t threshold = engine.long_prefill_token_threshold;
  const std::int64_t left = request.uncomputed();
  return threshold > 0 ? std::min(left, threshold) : left;
}

/// Position in `running` of the request to preempt: the last admitted, or the worst in priority,
/// later arrival breaking ties.
std::size_t victim_position(const EngineState& state) {
  const auto& running = state.running;
  if (state.engine.order == QueueOrder::fcfs) return running.size() - 1;
  const auto worst = std::max_element(running.begin(), running.end(), [&](auto a, auto b) {
    return std::tuple(state[a].priority, a) < std::tuple(state[b].priority, b);
  });
  return static_cast<std::size_t>(worst - running.begin());
}

/// Takes a request out of this step, if it is in it; returns the tokens it had.
std::int64_t unschedule(StepPlan& plan, RequestId id) {
  const auto found = std::find_if(plan.scheduled.begin(), plan.scheduled.end(),
                                  [&](const ScheduledTokens& s) { return s.request == id; });
  if (found == plan.scheduled.end()) return 0;
  const std::int64_t tokens = found->tokens;
  plan.scheduled.erase(found);
  return tokens;
}

/// Where phase A stands: the request looked at, and the tokens left.
struct RunningPass {
  std::size_t at = 0;
  std::int64_t budget = 0;
};

/// Preempts until the request looked at has blocks for `tokens` more; false when it had to give
/// way itself. A victim that this step had already scheduled gives its tokens back to the budget.
bool make_room(EngineState& state, StepPlan& plan, RunningPass& pass, std::int64_t tokens) {
  const RequestId id = state.running[pass.at];
  RequestState& request = state[id];
  while (!state.blocks.grow(request.kv, request.computed + tokens, tokens)) {
    const std::size_t position = victim_position(state);
    const RequestId victim = state.running[position];
    state.running.erase(state.running.begin() + static_cast<std::ptrdiff_t>(position));
    if (position < pass.at) {
      pass.budget += unschedule(plan, victim);
      --pass.at;
    }
    preempt(state, victim);
    plan.preempted.push_back(victim);
    if (victim == id) return false;
  }
  return true;
}

/// Phase A: the running requests. Returns the budget left.
std::int64_t schedule_running(EngineState& state, StepPlan& plan, std::int64_t budget) {
  RunningPass pass{.at = 0, .budget = budget};
  while (pass.at < state.running.size() && pass.budget > 0) {
    const RequestId id = state.running[pass.at];
    const std::int64_t tokens = std::min(wanted_tokens(state.engine, state[id]), pass.budget);
    if (!make_room(state, plan, pass, tokens)) break;
    plan.scheduled.push_back({id, tokens});
    pass.budget -= tokens;
    ++pass.at;
  }
  return pass.budget;
}

/// Whether the head of the queue may start with a chunk of `tokens`: there must be blocks for its
/// whole sequence or for the chunk alone, by era, though only the chunk's are taken now.
bool may_admit(const EngineState& state, const RequestState& request, std::int64_t tokens,
               std::int64_t watermark_blocks) {
  const std::int64_t blocks = state.engine.reserve_full_sequence
                                  ? state.blocks.most_needed(request.tokens())
                                  : state.blocks.needed(request.computed + tokens, tokens);
  const std::int64_t headroom = state.running.empty() ? 0 : watermark_blocks;
  return blocks + headroom <= state.blocks.free();
}

/// Phase B: waiting requests while budget and places are left. The first that cannot start blocks
/// all behind it.
void admit_waiting(EngineState& state, StepPlan& plan, std::int64_t budget) {
  const Engine& engine = state.engine;
  const auto places = static_cast<std::size_t>(engine.max_num_seqs);
  // vLLM takes the fraction of all block ids, the null block included.
  const auto watermark_blocks =
      static_cast<std::int64_t>(engine.watermark * static_cast<double>(state.blocks.usable() + 1));
  while (budget > 0 && !state.waiting.empty() && state.running.size() < places) {
    const RequestId id = state.waiting.front();
    RequestState& request = state[id];
    const std::int64_t wanted = wanted_tokens(engine, request);
    if (!engine.chunked_prefill && wanted > budget) break;
    const std::int64_t tokens = std::min(wanted, budget);
    if (!may_admit(state, request, tokens, watermark_blocks)) break;
    if (!state.blocks.grow(request.kv, request.computed + tokens, tokens)) break;
    state.waiting.pop_front();
    state.running.push_back(id);
    plan.admitted.push_back(id);
    plan.scheduled.push_back({id, tokens});
    budget -= tokens;
  }
}

}  // namespace

void VllmV1Policy::schedule(EngineState& state, StepPlan& plan) const {
  const std::int64_t budget = schedule_running(state, plan, state.engine.max_num_batched_tokens);
  if (plan.preempted.empty()) admit_waiting(state, plan, budget);
}

}  // namespace roofcast

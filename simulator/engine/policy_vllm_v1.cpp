#include "simulator/engine/policy_vllm_v1.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

#include "simulator/engine/block_prefix.hpp"
#include "simulator/engine/vllm_admission.hpp"

namespace roofcast {
namespace {

/// Position in `running` of the request to preempt: the last admitted, or the worst in priority,
/// later arrival breaking ties. Requests whose last token is on its way free their blocks anyway.
std::size_t victim_position(const EngineState& state) {
  const auto& running = state.running;
  const bool by_priority = state.engine.order == QueueOrder::priority;
  std::optional<std::size_t> worst;
  for (std::size_t i = running.size(); i-- > 0;) {
    const RequestId id = running[i];
    if (state[id].complete()) continue;
    if (!by_priority) return i;
    const bool worse = !worst || std::tuple(state[id].priority, id) >
                                     std::tuple(state[running[*worst]].priority, running[*worst]);
    if (worse) worst = i;
  }
  return *worst;  // the request that needs blocks is itself a candidate
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
    if (state[id].complete()) {
      ++pass.at;
      continue;
    }
    const std::int64_t tokens =
        std::min(wanted_tokens(state.engine, state[id].uncomputed()), pass.budget);
    if (!make_room(state, plan, pass, tokens)) break;
    share_full_blocks(state, id, state[id].computed + tokens);
    plan.scheduled.push_back({id, tokens});
    pass.budget -= tokens;
    ++pass.at;
  }
  return pass.budget;
}

}  // namespace

void VllmV1Policy::schedule(EngineState& state, Nanoseconds, StepPlan& plan) {
  const std::int64_t budget = schedule_running(state, plan, state.engine.max_num_batched_tokens);
  if (plan.preempted.empty()) admit_waiting(state, plan, budget);
}

void VllmV1Policy::finish(EngineState& state, RequestId id) {
  share_generated_blocks(state, id);
  state.blocks.release(state[id].kv);
}

std::int64_t VllmV1Policy::cached_tokens(const EngineState& state, RequestId id) const {
  return cached_prompt_tokens(state, id);
}

}  // namespace roofcast

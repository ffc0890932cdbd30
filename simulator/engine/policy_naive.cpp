#include "simulator/engine/policy_naive.hpp"

#include <utility>

namespace roofcast {

void NaivePolicy::schedule(EngineState& state, Nanoseconds, StepPlan& plan) {
  if (state.running.empty()) {
    if (state.waiting.empty()) return;
    state.running.push_back(state.waiting.front());
    plan.admitted.push_back(state.waiting.front());
    state.waiting.pop_front();
  }
  const RequestId id = state.running.front();
  RequestState& request = state[id];
  if (request.complete()) return;
  // Nothing is kept from the previous step.
  state.counters.dropped_tokens += std::exchange(request.computed, 0);
  plan.scheduled.push_back({id, request.tokens()});
}

}  // namespace roofcast

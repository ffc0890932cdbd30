// The simplest possible loop: one request at a time and no KV cache. Every token recomputes the
// whole sequence so far, prompt and generated tokens: the naive baseline of `roofcast staircase`.
#include "simulator/engine/schedulers.hpp"

#include <utility>

namespace roofcast {
namespace {

class NaivePolicy final : public BatchingPolicy {
 public:
  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  void finish(EngineState&, RequestId) override {}
  /// Nothing is cached, and each step computes the sequence from its start.
  Demand demand_of(const Engine& engine, const Request& request,
                   const CacheLayout&) const override {
    Demand demand = demand_if_recomputed(engine, request);
    demand.cached = 0;
    return demand;
  }
  bool keeps_cache() const override { return false; }
  std::int64_t cached_tokens(const EngineState&, RequestId) const override { return 0; }
};

void NaivePolicy::schedule(EngineState& state, Nanoseconds, StepPlan& plan) {
  if (state.running.empty()) {
    if (state.waiting.empty()) return;
    state.running.push_back(state.waiting.front());
    plan.admitted.push_back(state.waiting.front());
    state.waiting.pop_front();
  }
  const RequestId id = state.running.front();
  RequestState& request = state[id];
  if (!state.can_run(request)) return;
  // Nothing is kept from the previous step.
  state.counters.dropped_tokens += std::exchange(request.computed, 0);
  plan.scheduled.push_back({id, request.tokens()});
}

}  // namespace

std::unique_ptr<BatchingPolicy> naive_policy(const Engine&) {
  return std::make_unique<NaivePolicy>();
}

}  // namespace roofcast

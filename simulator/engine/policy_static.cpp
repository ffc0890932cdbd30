// Static batching: scheduling whole requests, as serving systems did before iteration-level
// scheduling (the baseline of Orca; Yu et al., OSDI 2022, section 3). When nothing runs, up to
// max_num_seqs waiting requests form a batch, in order; their prompts are computed in one step,
// then each gains a token per step. Later arrivals wait until the longest output of the batch is
// done. Blocks are reserved for all prompts and outputs, so the KV cache and max_num_batched_tokens
// also limit a batch. What is not modelled, which flatters it: docs/engines.md.
#include <cassert>

#include "simulator/engine/schedulers.hpp"

namespace roofcast {
namespace {

class StaticBatchPolicy final : public BatchingPolicy {
 public:
  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  std::optional<bool> schedule_around(EngineState& state, Nanoseconds now, const DecodeLoad& load,
                                      StepPlan& plan) override;
  bool schedules_in_aggregate() const override { return true; }
  void finish(EngineState& state, RequestId id) override;
  Demand demand_of(const Engine& engine, const Request& request,
                   const CacheLayout&) const override {
    return demand_if_reserved(engine, request);
  }
  bool reserves_output(const Engine&) const override { return true; }
  bool recomputes_prompts(const Engine&) const override { return false; }
  std::int64_t cached_tokens(const EngineState&, RequestId) const override { return 0; }
};

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

void StaticBatchPolicy::schedule(EngineState& state, Nanoseconds, StepPlan& plan) {
  if (state.running.empty()) start_batch(state, plan);
  for (RequestId id : state.running) {
    if (state.can_run(state[id])) run(state, id, plan);
  }
}

std::optional<bool> StaticBatchPolicy::schedule_around(EngineState& state, Nanoseconds,
                                                       const DecodeLoad& load, StepPlan&) {
  return decode_alone(state, load);
}

void StaticBatchPolicy::finish(EngineState& state, RequestId id) {
  state.blocks.release(state[id].kv);
}

}  // namespace

std::unique_ptr<BatchingPolicy> static_batch_policy(const Engine&) {
  return std::make_unique<StaticBatchPolicy>();
}

}  // namespace roofcast

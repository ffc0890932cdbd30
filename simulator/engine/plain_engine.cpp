#include "simulator/engine/plain_engine.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace roofcast {

PlainEngine::PlainEngine(const Replica& replica, RequestTable& table, TokenGaps& gaps,
                         GapCounting counting)
    : step_time_(replica.step_time),
      gaps_(gaps),
      state_{.engine = replica.engine,
             .blocks = kv_blocks_of(replica),
             .waiting = WaitingQueue(replica.engine.order),
             .requests = table,
             .seed = replica.seed},
      policy_(make_policy(replica.engine)) {
  assert(step_time_ != nullptr);
  if (counting == GapCounting::when_finished) state_.held_gaps.emplace();
}

std::optional<Nanoseconds> PlainEngine::start_step(Nanoseconds now) {
  const auto end = begin_step(now);
  // Asynchronous scheduling decides the next step as soon as this one is submitted
  // (step_with_batch_queue in vllm/v1/engine/core.py): anything that arrives or finishes while this
  // one runs is seen one step later.
  if (!end || !decides_ahead(state_.engine)) return end;
  if (state_.step_number) ++*state_.step_number;
  decide(now, next_);
  return end;
}

std::optional<Nanoseconds> PlainEngine::begin_step(Nanoseconds now) {
  assert(!in_progress_);
  if (next_.empty()) decide(now, next_);
  if (next_.empty() && !state_.arrived.empty()) decide(now, next_);  // which now looks for them
  if (next_.empty()) return std::nullopt;
  std::swap(step_, next_);
  next_.plan.clear();
  const Nanoseconds duration = to_nanoseconds(
      std::max(step_time_->seconds(step_.batch) + step_.plan.added, step_.plan.loading));
  assert(duration >= 0);
  step_end_ = now + duration;
  in_progress_ = true;
  account_step(state_, duration);
  return step_end_;
}

StepOffer PlainEngine::offer_step(Nanoseconds) {
  assert(next_.empty());
  next_.plan.clear();
  offered_ = true;
  return policy_->offer(state_, next_.plan);
}

/// Calls the policy. If the only request it looked at preempted itself, nothing runs and no time
/// passes, so the policy is called again.
void PlainEngine::decide(Nanoseconds now, DecidedStep& step) {
  do {
    if (!std::exchange(offered_, false)) step.plan.clear();
    policy_->schedule(state_, now, step.plan);
    account_moves(state_, step.plan, now);
  } while (step.empty() && !step.plan.preempted.empty());
  clear(step.batch, step_time_->spans().size());
  commit(state_, step.plan, step_time_->spans(), step.batch);
}

void PlainEngine::move_step_end(Nanoseconds end) {
  assert(in_progress_);
  account_more_time(state_, end - step_end_);
  step_end_ = end;
}

std::span<const RequestId> PlainEngine::finish_step() {
  assert(in_progress_);
  in_progress_ = false;
  finished_.clear();
  finish_sampled(state_, *policy_, step_.plan.sampled, step_end_, gaps_, finished_);
  return finished_;
}

std::optional<Nanoseconds> PlainEngine::next_wake() const { return policy_->next_wake(state_); }

std::vector<RequestId> PlainEngine::evacuate() {
  step_.plan.clear();
  next_.plan.clear();
  in_progress_ = false;
  return roofcast::evacuate(state_, *policy_);
}

std::int64_t PlainEngine::cached_tokens(RequestId id) const {
  return policy_->cached_tokens(state_, id);
}

}  // namespace roofcast

#include "simulator/engine/pipelined_engine.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace roofcast {

PipelinedEngine::PipelinedEngine(const Replica& replica, RequestTable& table, TokenGaps& gaps,
                                 GapCounting counting)
    : step_time_(replica.step_time),
      gaps_(gaps),
      state_{.engine = replica.engine,
             .blocks = kv_blocks_of(replica),
             .waiting = WaitingQueue(replica.engine.order),
             .requests = table,
             .seed = replica.seed,
             .micro_batches = replica.step_time->stages()},
      policy_(make_policy(replica.engine)),
      free_at_(static_cast<std::size_t>(replica.step_time->stages()) + 1, 0),
      host_free_at_(static_cast<std::size_t>(replica.step_time->stages()), 0) {
  if (counting == GapCounting::when_finished) state_.held_gaps.emplace();
}

std::optional<Nanoseconds> PipelinedEngine::start_step(Nanoseconds now) {
  fill_stages(now);
  if (in_progress_.empty() && !state_.arrived.empty()) fill_stages(now);  // now looks for them
  if (in_progress_.empty()) return std::nullopt;
  account_levels(state_);
  account_more_time(state_, in_progress_.front().end - now);
  return in_progress_.front().end;
}

/// Decides steps, slot after slot, until one is still in progress or no slot has anything to run.
void PipelinedEngine::fill_stages(Nanoseconds now) {
  std::int64_t idle = 0;  // slots in a row with nothing to run
  while (std::ssize(in_progress_) < state_.micro_batches && idle < state_.micro_batches) {
    const bool taken = std::ranges::any_of(
        in_progress_, [&](const MicroBatch& step) { return step.slot == state_.slot; });
    if (taken) return;
    MicroBatch next{.slot = state_.slot};
    if (decide(now, next.plan)) {
      idle = 0;
      next.end = pass_through(now, next.plan.added);
      in_progress_.push_back(std::move(next));
      account_step(state_, 0);
      ++state_.in_progress;
    } else if (policy_->keeps_micro_batches()) {
      ++idle;
    } else {
      return;
    }
    state_.slot = (state_.slot + 1) % state_.micro_batches;
  }
}

/// Calls the policy as PlainEngine does. Returns whether anything runs.
bool PipelinedEngine::decide(Nanoseconds now, StepPlan& plan) {
  do {
    plan.clear();
    policy_->schedule(state_, now, plan);
    account_moves(state_, plan, now);
  } while (plan.scheduled.empty() && !plan.preempted.empty());
  clear(batch_, step_time_->spans().size());
  commit(state_, plan, step_time_->spans(), batch_);
  batch_.other_requests = held_requests() - std::ssize(plan.scheduled);
  return !plan.scheduled.empty();
}

/// Requests that have a place in one of the micro-batches or wait for room in the cache there.
std::int64_t PipelinedEngine::held_requests() const {
  const std::int64_t arrived =
      std::ssize(state_.running) + static_cast<std::int64_t>(state_.waiting.size());
  return std::min(arrived, state_.engine.max_num_seqs * state_.micro_batches);
}

/// Sends the batch just decided through all stages; returns when it leaves the last. What the plan
/// adds to its time is the last stage's.
Nanoseconds PipelinedEngine::pass_through(Nanoseconds now, Seconds added) {
  step_time_->divide(batch_, time_);
  assert(time_.stages.size() + 1 == free_at_.size());
  assert(time_.hosts.empty() || time_.hosts.size() == time_.stages.size());
  time_.stages.back() += added;
  state_.counters.pass_time += static_cast<double>(to_nanoseconds(time_.path()));
  Nanoseconds at = free_at_[0] = std::max(now, free_at_[0]) + to_nanoseconds(time_.before);
  for (std::size_t i = 0; i < time_.stages.size(); ++i) {
    const Nanoseconds kernels = to_nanoseconds(time_.stages[i]);
    assert(kernels >= 0);
    Nanoseconds& stage_free = free_at_[i + 1];
    at = std::max(at, stage_free);
    if (time_.hosts.empty()) {
      at += kernels;
    } else {
      const Nanoseconds prepared =
          std::max(now, host_free_at_[i]) + to_nanoseconds(time_.hosts[i].prepares);
      host_free_at_[i] = prepared + to_nanoseconds(time_.hosts[i].launches);
      at = std::max(std::max(at, prepared) + kernels, host_free_at_[i]);
      if (time_.hosts_wait && i + 1 < time_.stages.size()) host_free_at_[i] = at;
    }
    stage_free = at;
  }
  return at;
}

void PipelinedEngine::move_step_end(Nanoseconds end) {
  assert(!in_progress_.empty());
  const Nanoseconds more = end - in_progress_.front().end;
  account_more_time(state_, more);
  for (MicroBatch& step : in_progress_) step.end += more;
  for (Nanoseconds& time : free_at_) time += more;
  for (Nanoseconds& time : host_free_at_) time += more;
}

std::span<const RequestId> PipelinedEngine::finish_step() {
  assert(!in_progress_.empty());
  const MicroBatch step = std::move(in_progress_.front());
  in_progress_.pop_front();
  --state_.in_progress;
  finished_.clear();
  finish_sampled(state_, *policy_, step.plan.sampled, step.end, gaps_, finished_);
  return finished_;
}

std::vector<RequestId> PipelinedEngine::evacuate() {
  in_progress_.clear();
  state_.in_progress = 0;
  std::ranges::fill(free_at_, 0);
  std::ranges::fill(host_free_at_, 0);
  return roofcast::evacuate(state_, *policy_);
}

}  // namespace roofcast

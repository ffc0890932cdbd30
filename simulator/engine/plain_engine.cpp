#include "simulator/engine/plain_engine.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace roofcast {

PlainEngine::PlainEngine(const Replica& replica, RequestTable& table, TokenGaps& gaps)
    : step_time_(replica.step_time),
      gaps_(gaps),
      state_{.engine = replica.engine,
             .blocks =
                 KvBlocks(replica.layout, replica.kv_blocks, replica.engine.max_num_batched_tokens),
             .waiting = WaitingQueue(replica.engine.order),
             .requests = table},
      policy_(make_policy(replica.engine)) {
  assert(step_time_ != nullptr);
}

void PlainEngine::enqueue(RequestId id) {
  RequestState& request = state_[id];
  request.waiting_since = state_.requests.record(id).queued;
  state_.waiting.push_back(id, request.priority);
}

std::optional<Nanoseconds> PlainEngine::start_step(Nanoseconds now) {
  assert(!in_progress_);
  if (next_.empty()) decide(now, next_);
  if (next_.empty()) return std::nullopt;
  std::swap(step_, next_);
  next_.plan.clear();
  const Nanoseconds duration = to_nanoseconds(step_time_->seconds(step_.batch));
  assert(duration >= 0);
  step_end_ = now + duration;
  in_progress_ = true;
  account_step(duration);
  // Asynchronous scheduling decides the next step as soon as this one has been handed over
  // (step_with_batch_queue in vllm/v1/engine/core.py): what arrives or finishes while this one runs
  // is seen a step later.
  if (state_.engine.async_scheduling) decide(now, next_);
  return step_end_;
}

/// Asks the policy. A decision in which the only request that was looked at preempted itself runs
/// nothing and takes no time: the scheduler is asked again.
void PlainEngine::decide(Nanoseconds now, DecidedStep& step) {
  do {
    step.plan.clear();
    policy_->schedule(state_, now, step.plan);
    account_moves(now, step.plan);
  } while (step.empty() && !step.plan.preempted.empty());
  commit(step);
}

void PlainEngine::account_moves(Nanoseconds now, const StepPlan& plan) {
  std::int64_t waited = 0;
  for (RequestId id : plan.admitted) {
    RequestRecord& record = state_.requests.record(id);
    const RequestState& request = state_[id];
    if (record.scheduled == kNever) {
      record.scheduled = now;
      record.cached_tokens = std::min(request.computed, request.input_tokens);
    }
    // Those that start only now waited until this moment, as mean_waiting has it.
    if (request.waiting_since < now) ++waited;
    state_.counters.waiting_time += static_cast<double>(now - request.waiting_since);
  }
  for (RequestId id : plan.preempted) {
    ++state_.requests.record(id).preemptions;
    ++state_.counters.preemptions;
    state_[id].waiting_since = now;
  }
  const auto waiting = static_cast<std::int64_t>(state_.waiting.size()) + waited;
  state_.counters.peak_waiting = std::max(state_.counters.peak_waiting, waiting);
}

/// Counts what was scheduled as computed, and describes it to the step time.
void PlainEngine::commit(DecidedStep& step) {
  const std::vector<AttentionSpan>& spans = step_time_->spans();
  StepBatch& batch = step.batch;
  batch.prefills.clear();
  batch.decode_sequences = 0;
  batch.decode_attended.assign(spans.size(), 0);
  for (const auto& [id, tokens] : step.plan.scheduled) {
    RequestState& request = state_[id];
    if (request.decoding()) {
      ++batch.decode_sequences;
      for (std::size_t i = 0; i < spans.size(); ++i) {
        batch.decode_attended[i] += attended_tokens(spans[i], request.computed);
      }
    } else {
      batch.prefills.push_back({.new_tokens = tokens,
                                .context_tokens = request.computed,
                                .emits_token = tokens == request.uncomputed()});
      state_.counters.prefill_tokens += tokens;
    }
    request.computed += tokens;
    if (request.uncomputed() > 0) continue;
    ++request.generated;
    step.plan.sampled.push_back(id);
  }
  state_.counters.decode_tokens += batch.decode_sequences;
}

void PlainEngine::account_step(Nanoseconds duration) {
  EngineCounters& counters = state_.counters;
  const auto running = static_cast<std::int64_t>(state_.running.size());
  const auto time = static_cast<double>(duration);
  ++counters.steps;
  counters.busy += duration;
  counters.block_time += time * static_cast<double>(state_.blocks.used());
  counters.running_time += time * static_cast<double>(running);
  counters.peak_running = std::max(counters.peak_running, running);
  counters.peak_blocks = std::max(counters.peak_blocks, state_.blocks.used());
}

std::span<const RequestId> PlainEngine::finish_step() {
  assert(in_progress_);
  in_progress_ = false;
  finished_.clear();
  bool any_finished = false;
  for (RequestId id : step_.plan.sampled) any_finished |= emit_token(id);
  if (!any_finished) return finished_;
  // In order of admission, whatever the order they were scheduled in.
  std::erase_if(state_.running, [&](RequestId id) {
    const RequestState& request = state_[id];
    const bool finished = request.emitted == request.output_tokens;
    if (finished) finished_.push_back(id);
    return finished;
  });
  for (RequestId id : finished_) {
    policy_->finish(state_, id);
    state_.requests.leave(id);
  }
  return finished_;
}

/// The client gets one more token. True when it was the last.
bool PlainEngine::emit_token(RequestId id) {
  RequestState& request = state_[id];
  RequestRecord& record = state_.requests.record(id);
  if (record.first_token == kNever) {
    record.first_token = step_end_;
  } else {
    const Nanoseconds gap = step_end_ - request.last_token;
    record.largest_gap = std::max(record.largest_gap, gap);
    gaps_.add(static_cast<std::size_t>(record.request.slo_class), gap);
  }
  request.last_token = step_end_;
  ++request.emitted;
  if (request.emitted < request.output_tokens) return false;
  record.finished = step_end_;
  return true;
}

std::optional<Nanoseconds> PlainEngine::next_wake() const { return policy_->next_wake(state_); }

std::vector<RequestId> PlainEngine::evacuate() {
  std::vector<RequestId> all = state_.running;
  for (; !state_.waiting.empty(); state_.waiting.pop_front()) all.push_back(state_.waiting.front());
  state_.running.clear();
  for (RequestId id : all) {
    state_.blocks.release(state_[id].kv);
    state_.requests.leave(id);
  }
  step_.plan.clear();
  next_.plan.clear();
  in_progress_ = false;
  return all;
}

EngineLoad PlainEngine::load() const {
  return {.running = static_cast<std::int64_t>(state_.running.size()),
          .waiting = static_cast<std::int64_t>(state_.waiting.size()),
          .blocks_used = state_.blocks.used(),
          .blocks_usable = state_.blocks.usable()};
}

std::int64_t PlainEngine::cached_tokens(RequestId id) const {
  return policy_->cached_tokens(state_, id);
}

}  // namespace roofcast

#include "simulator/engine/engine_loop.hpp"

#include <algorithm>
#include <cassert>

namespace roofcast {
namespace {

std::vector<RequestState> initial_states(const std::vector<RequestRecord>& records) {
  std::vector<RequestState> states;
  states.reserve(records.size());
  for (const RequestRecord& record : records) {
    RequestState& state = states.emplace_back();
    state.input_tokens = record.request.input_tokens;
    state.output_tokens = record.request.output_tokens;
    state.priority = record.request.priority;
  }
  return states;
}

}  // namespace

EngineLoop::EngineLoop(const Replica& replica, std::vector<RequestRecord>& records, TokenGaps& gaps)
    : step_time_(replica.step_time),
      records_(records),
      gaps_(gaps),
      state_{.engine = replica.engine,
             .blocks =
                 KvBlocks(replica.layout, replica.kv_blocks, replica.engine.max_num_batched_tokens),
             .waiting = WaitingQueue(replica.engine.order),
             .running = {},
             .requests = initial_states(records)},
      policy_(make_policy(replica.engine)) {
  assert(step_time_ != nullptr);
}

void EngineLoop::enqueue(RequestId id) {
  RequestState& request = state_[id];
  request.waiting_since = records_[static_cast<std::size_t>(id)].queued;
  state_.waiting.push_back(id, request.priority);
}

std::optional<Nanoseconds> EngineLoop::start_step(Nanoseconds now) {
  choose(now);
  if (plan_.scheduled.empty()) return std::nullopt;
  build_batch();
  const Nanoseconds duration = to_nanoseconds(step_time_->seconds(batch_));
  assert(duration >= 0);
  step_end_ = now + duration;

  const auto running = static_cast<std::int64_t>(state_.running.size());
  // Those that start only now waited until this moment, as mean_waiting has it.
  const auto waited = std::count_if(plan_.admitted.begin(), plan_.admitted.end(),
                                    [&](RequestId id) { return state_[id].waiting_since < now; });
  const auto waiting = static_cast<std::int64_t>(state_.waiting.size()) + waited;
  const auto time = static_cast<double>(duration);
  ++counters_.steps;
  counters_.busy += duration;
  counters_.block_time += time * static_cast<double>(state_.blocks.used());
  counters_.running_time += time * static_cast<double>(running);
  counters_.peak_running = std::max(counters_.peak_running, running);
  counters_.peak_waiting = std::max(counters_.peak_waiting, waiting);
  counters_.peak_blocks = std::max(counters_.peak_blocks, state_.blocks.used());
  return step_end_;
}

/// Asks the policy. A step in which the only request that was looked at preempted itself runs
/// nothing and takes no time: the scheduler is asked again.
void EngineLoop::choose(Nanoseconds now) {
  do {
    plan_.clear();
    policy_->schedule(state_, plan_);
    account_moves(now);
  } while (plan_.scheduled.empty() && !plan_.preempted.empty());
}

void EngineLoop::account_moves(Nanoseconds now) {
  for (RequestId id : plan_.admitted) {
    RequestRecord& record = records_[static_cast<std::size_t>(id)];
    if (record.scheduled == kNever) record.scheduled = now;
    counters_.waiting_time += static_cast<double>(now - state_[id].waiting_since);
  }
  for (RequestId id : plan_.preempted) {
    ++records_[static_cast<std::size_t>(id)].preemptions;
    ++counters_.preemptions;
    state_[id].waiting_since = now;
  }
}

void EngineLoop::build_batch() {
  const std::vector<AttentionSpan>& spans = step_time_->spans();
  batch_.prefills.clear();
  batch_.decode_sequences = 0;
  batch_.decode_attended.assign(spans.size(), 0);
  for (const auto& [id, tokens] : plan_.scheduled) {
    const RequestState& request = state_[id];
    if (!request.decoding()) {
      batch_.prefills.push_back({.new_tokens = tokens,
                                 .context_tokens = request.computed,
                                 .emits_token = tokens == request.uncomputed()});
      counters_.prefill_tokens += tokens;
      continue;
    }
    ++batch_.decode_sequences;
    ++counters_.decode_tokens;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      batch_.decode_attended[i] += attended_tokens(spans[i], request.computed);
    }
  }
}

std::int64_t EngineLoop::finish_step() {
  std::int64_t finished = 0;
  for (const auto& [id, tokens] : plan_.scheduled) {
    RequestState& request = state_[id];
    request.computed += tokens;
    if (request.uncomputed() == 0 && emit_token(id)) ++finished;
  }
  if (finished > 0) {
    std::erase_if(state_.running,
                  [&](RequestId id) { return state_[id].generated == state_[id].output_tokens; });
  }
  return finished;
}

/// The sequence is computed to its end: one more token. True when it was the last.
bool EngineLoop::emit_token(RequestId id) {
  RequestState& request = state_[id];
  RequestRecord& record = records_[static_cast<std::size_t>(id)];
  if (request.generated == 0) {
    record.first_token = step_end_;
  } else {
    const Nanoseconds gap = step_end_ - request.last_token;
    record.largest_gap = std::max(record.largest_gap, gap);
    gaps_.add(static_cast<std::size_t>(record.request.slo_class), gap);
  }
  request.last_token = step_end_;
  ++request.generated;
  if (request.generated < request.output_tokens) return false;
  record.finished = step_end_;
  state_.blocks.release(request.kv);
  return true;
}

EngineUse engine_use(const EngineLoop& engine, Nanoseconds makespan) {
  const EngineCounters& counters = engine.counters();
  EngineUse use;
  use.steps = counters.steps;
  use.prefill_tokens = counters.prefill_tokens;
  use.recomputed_tokens = engine.state().recomputed_tokens;
  use.decode_tokens = counters.decode_tokens;
  use.preemptions = counters.preemptions;
  use.peak_running = counters.peak_running;
  use.peak_waiting = counters.peak_waiting;
  const auto usable = static_cast<double>(engine.state().blocks.usable());
  if (usable > 0) use.peak_kv_use = static_cast<double>(counters.peak_blocks) / usable;
  if (makespan <= 0) return use;
  const auto time = static_cast<double>(makespan);
  if (usable > 0) use.mean_kv_use = counters.block_time / time / usable;
  use.mean_running = counters.running_time / time;
  use.mean_waiting = counters.waiting_time / time;
  use.busy_share = static_cast<double>(counters.busy) / time;
  return use;
}

}  // namespace roofcast

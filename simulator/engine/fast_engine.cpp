#include "simulator/engine/fast_engine.hpp"

#include <algorithm>
#include <cassert>

namespace roofcast {
namespace {

// After repeated failures to decide around the batch, this many decisions in a row are taken
// without forming it. Bounds the cost of forming and dissolving it for nothing.
constexpr int kMaxBackoff = 63;

// Steps advanced at once, so that control returns to the caller regularly.
constexpr int kMaxQuietSteps = 4096;

// Ends of steps kept to find out when chunks were sent (stream_interval), half a megabyte.
constexpr std::size_t kMaxEnds = 65'536;

}  // namespace

void FastStep::clear() {
  plan.clear();
  decodes = false;
  fresh.clear();
  completed.clear();
}

// ---- GapMaxima

void GapMaxima::add(std::int64_t tick, Nanoseconds gap) {
  while (!longest_.empty() && longest_.back().second <= gap) longest_.pop_back();
  longest_.emplace_back(tick, gap);
}

Nanoseconds GapMaxima::since(std::int64_t tick) const {
  const auto found =
      std::lower_bound(longest_.begin(), longest_.end(), tick,
                       [](const auto& entry, std::int64_t t) { return entry.first < t; });
  return found == longest_.end() ? 0 : found->second;
}

// ---- StepEnds

void StepEnds::add(std::int64_t tick, Nanoseconds end) {
  if (ends_.empty()) first_ = tick;
  assert(tick == first_ + std::ssize(ends_));
  ends_.push_back(end);
}

// ---- FastEngine

FastEngine::FastEngine(const Replica& replica, RequestTable& table, TokenGaps& gaps,
                       std::unique_ptr<BatchingPolicy> policy)
    : step_time_(replica.step_time),
      gaps_(gaps),
      state_{.engine = replica.engine,
             .blocks = kv_blocks_of(replica),
             .waiting = WaitingQueue(replica.engine.order),
             .requests = table,
             .seed = replica.seed},
      policy_(std::move(policy)),
      decoding_(state_.blocks, *replica.step_time, table),
      members_(gaps.classes() * gaps.stages(), 0) {}

std::optional<Nanoseconds> FastEngine::start_step(Nanoseconds now) {
  assert(!in_progress_);
  if (next_->empty()) decide(now, *next_);
  if (next_->empty() && !state_.arrived.empty()) decide(now, *next_);  // which now looks for them
  if (next_->empty()) return std::nullopt;
  std::swap(step_, next_);
  next_->clear();
  const Nanoseconds duration = to_nanoseconds(
      std::max(step_time_->seconds(step_->batch) + step_->plan.added, step_->plan.loading));
  assert(duration >= 0);
  step_end_ = now + duration;
  in_progress_ = true;
  account_step(state_, duration);
  if (!decides_ahead(state_.engine)) return step_end_;
  if (state_.step_number) ++*state_.step_number;
  decide(now, *next_);
  return step_end_;
}

std::optional<Nanoseconds> FastEngine::start_steps(Nanoseconds now, Nanoseconds horizon) {
  int quiet = 0;
  while (quiet < kMaxQuietSteps && run_quiet_step(now, horizon)) ++quiet;
  return start_step(now);
}

/// The batch's load at the next tick; nullopt if anything else can happen in that step.
std::optional<DecodeLoad> FastEngine::quiet_load() {
  const bool alone = state_.waiting.empty() && state_.arrived.empty() && unbatched_.empty() &&
                     newly_joined_.empty();
  if (!alone || decoding_.size() == 0 || decoding_.ends_next()) return std::nullopt;
  if (decoding_.size() > state_.engine.max_num_seqs) return std::nullopt;  // of ATOM
  const DecodeLoad load = decoding_.load(state_.blocks);
  if (load.rows > state_.blocks.free()) return std::nullopt;
  if (load.returned_blocks > 0 && state_.blocks.has_names()) return std::nullopt;
  return load;
}

/// Executes the step that begins at `now`, and moves `now` to its end, if it ends before the
/// horizon and the decision due in it is to decode the batch and nothing else. Same effect as
/// start_step and finish_step, without the work for other requests.
bool FastEngine::run_quiet_step(Nanoseconds& now, Nanoseconds horizon) {
  if (one_by_one_ > 0) return false;
  const bool ahead = decides_ahead(state_.engine);  // the step itself is already decided
  if (ahead && !next_->only_batch()) return false;
  if (!ahead && !next_->empty()) return false;
  const std::optional<DecodeLoad> load = quiet_load();
  if (!load) return false;
  StepBatch& batch = next_->batch;
  if (!ahead) {
    clear(batch, step_time_->spans().size());
    decoding_.describe(batch);
  }
  const Nanoseconds duration = to_nanoseconds(step_time_->seconds(batch));
  if (now + duration >= horizon) return false;
  if (ahead) account_step(state_, duration);
  state_.blocks.take_rows(load->rows);
  state_.blocks.take_rows(-load->returned_blocks);
  state_.counters.decode_tokens += decoding_.size();
  if (ahead) {
    clear(batch, step_time_->spans().size());
    decoding_.describe(batch);
  }
  now = step_end_ = now + duration;
  const std::int64_t tick = ahead ? next_->tick : decoding_.tick() + 1;
  decoding_.advance(state_.blocks, next_->completed);
  next_->tick = decoding_.tick();
  if (!ahead) account_step(state_, duration);
  emit_gap(tick, members_);
  return true;
}

void FastEngine::decide(Nanoseconds now, FastStep& step) {
  step.clear();
  if (one_by_one_ > 0) {
    --one_by_one_;
    decide_one_by_one(now, step);
  } else if (ends_.size() > kMaxEnds) {
    dissolve();
    decide_one_by_one(now, step);
  } else if (decide_around(now, step)) {
    backoff_ = 0;
  } else {
    dissolve();
    one_by_one_ = backoff_;
    backoff_ = std::min(2 * backoff_ + 1, kMaxBackoff);
    decide_one_by_one(now, step);
  }
  clear(step.batch, step_time_->spans().size());
  if (step.decodes) advance_batch(step);
  commit(state_, step.plan, step_time_->spans(), step.batch);
  if (one_by_one_ == 0) gather();
}

/// Lets the policy decide with the batch in aggregate; false if it cannot.
bool FastEngine::decide_around(Nanoseconds now, FastStep& step) {
  DecodeLoad load = decoding_.load(state_.blocks);
  // The order in which named blocks are taken and returned determines which are evicted.
  if (load.returned_blocks > 0 && state_.blocks.has_names()) return false;
  load.others = unbatched_;
  const std::optional<bool> decodes = policy_->schedule_around(state_, now, load, step.plan);
  if (!decodes) return false;
  assert(step.plan.preempted.empty());
  account_moves(state_, step.plan, now);
  unbatched_.insert(unbatched_.end(), step.plan.admitted.begin(), step.plan.admitted.end());
  step.decodes = *decodes;
  return true;
}

/// Calls the policy as PlainEngine does, with every request's state up to date.
void FastEngine::decide_one_by_one(Nanoseconds now, FastStep& step) {
  do {
    step.plan.clear();
    policy_->schedule(state_, now, step.plan);
    account_moves(state_, step.plan, now);
  } while (step.plan.scheduled.empty() && !step.plan.preempted.empty());
  unbatched_ = state_.running;
}

/// Every request of the batch gains a token: adds that to the step and advances the batch.
void FastEngine::advance_batch(FastStep& step) {
  decoding_.describe(step.batch);
  state_.counters.decode_tokens += decoding_.size();
  step.members = members_;
  step.fresh.swap(newly_joined_);
  decoding_.advance(state_.blocks, step.completed);
  step.tick = decoding_.tick();
  for (RequestId id : step.completed) {
    --members_[gaps_.index_of(state_.requests.record(id).request)];
  }
}

/// Requests that decode from now on join the batch.
void FastEngine::gather() {
  std::erase_if(unbatched_, [&](RequestId id) {
    const RequestState& request = state_[id];
    if (request.complete()) return true;
    if (!request.decoding() || !decoding_.counts(request, state_.blocks)) return false;
    decoding_.join(id);
    newly_joined_.push_back(id);
    ++members_[gaps_.index_of(state_.requests.record(id).request)];
    return true;
  });
}

/// Returns to individual request states, in the step in progress too.
void FastEngine::dissolve() {
  decoding_.dissolve(state_.running, state_.blocks);
  const bool in_flight = in_progress_ && step_->decodes;
  for (RequestId id : state_.running) {
    RequestState& request = state_[id];
    if (request.joined < 0) continue;
    const std::int64_t gained = decoding_.tick() - request.joined;
    const bool samples_now = in_flight && gained > 0;
    const std::int64_t emitted = gained - (samples_now ? 1 : 0);
    if (emitted > 0 && chunked()) {
      emit_chunks(id, request.emitted + emitted);
    } else if (emitted > 0) {
      RequestRecord& record = state_.requests.record(id);
      request.emitted += emitted;
      request.last_token = last_batch_end_;
      record.largest_gap = std::max(record.largest_gap, maxima_.since(request.joined + 2));
    }
    if (samples_now) step_->plan.sampled.push_back({.request = id, .tokens = 1});
    request.joined = -1;
  }
  std::fill(members_.begin(), members_.end(), 0);
  newly_joined_.clear();
  ends_.clear();
  if (!in_flight) return;
  step_->decodes = false;
  step_->fresh.clear();
  step_->completed.clear();
}

void FastEngine::move_step_end(Nanoseconds end) {
  assert(in_progress_);
  account_more_time(state_, end - step_end_);
  step_end_ = end;
}

std::span<const RequestId> FastEngine::finish_step() {
  assert(in_progress_);
  in_progress_ = false;
  finished_.clear();
  if (step_->decodes) emit_from_batch();
  for (const ScheduledTokens& sampled : step_->plan.sampled) {
    if (emit(state_, sampled, step_end_, gaps_)) finished_.push_back(sampled.request);
  }
  if (!finished_.empty()) remove_finished();
  return finished_;
}

/// Every member of the batch emits a token.
void FastEngine::emit_from_batch() {
  if (chunked()) {
    emit_gap(step_->tick, step_->members);
    for (RequestId id : step_->completed) {
      emit_chunks(id, state_[id].output_tokens);
      state_.requests.record(id).finished = step_end_;
    }
    finished_ = step_->completed;
    return;
  }
  for (RequestId id : step_->fresh) {
    RequestRecord& record = state_.requests.record(id);
    const Nanoseconds gap = step_end_ - state_[id].last_token;
    const std::size_t log = gaps_.index_of(record.request);
    record.largest_gap = std::max(record.largest_gap, gap);
    gaps_.add(log, gap);
    --step_->members[log];
  }
  emit_gap(step_->tick, step_->members);
  for (RequestId id : step_->completed) {
    RequestState& request = state_[id];
    RequestRecord& record = state_.requests.record(id);
    record.largest_gap = std::max(record.largest_gap, maxima_.since(request.joined + 2));
    record.finished = step_end_;
    request.emitted = request.output_tokens;
  }
  finished_ = step_->completed;
}

/// The previous token of the `members` of each log came in the batch's previous step.
void FastEngine::emit_gap(std::int64_t tick, const std::vector<std::int64_t>& members) {
  if (chunked()) return ends_.add(tick, step_end_);
  const Nanoseconds gap = step_end_ - last_batch_end_;
  for (std::size_t log = 0; log < members.size(); ++log) {
    if (members[log] > 0) gaps_.add(log, gap, members[log]);
  }
  maxima_.add(tick, gap);
  last_batch_end_ = step_end_;
}

/// A member of the batch has emitted `tokens` tokens, one per tick since it joined: sends its
/// client the chunks that these fill.
void FastEngine::emit_chunks(RequestId id, std::int64_t tokens) {
  RequestState& request = state_[id];
  RequestRecord& record = state_.requests.record(id);
  const std::size_t log = gaps_.index_of(record.request);
  const std::int64_t before = request.joined - request.emitted;  // tick minus tokens emitted in it
  while (request.emitted < tokens) {
    const std::int64_t next = std::min(next_chunk(state_.engine, request), request.output_tokens);
    request.emitted = std::min(next, tokens);
    if (next > tokens) break;
    const Nanoseconds now = ends_.at(before + next);
    const Nanoseconds gap = now - request.last_token;
    record.largest_gap = std::max(record.largest_gap, gap);
    gaps_.add(log, gap);
    request.last_token = now;
    request.streamed = next;
  }
}

/// Orders the finished requests by admission and removes them from `running`.
void FastEngine::remove_finished() {
  std::vector<RequestId>& running = state_.running;
  if (finished_.size() == 1) {
    running.erase(std::find(running.begin(), running.end(), finished_.front()));
  } else {
    std::sort(finished_.begin(), finished_.end());
    const auto kept = std::stable_partition(running.begin(), running.end(), [&](RequestId id) {
      return !std::binary_search(finished_.begin(), finished_.end(), id);
    });
    finished_.assign(kept, running.end());
    running.erase(kept, running.end());
  }
  for (RequestId id : finished_) {
    account_finish(state_, id);
    policy_->finish(state_, id);
    state_.requests.leave(id);
  }
}

std::vector<RequestId> FastEngine::evacuate() {
  dissolve();
  step_->clear();
  next_->clear();
  unbatched_.clear();
  in_progress_ = false;
  return roofcast::evacuate(state_, *policy_);
}

}  // namespace roofcast

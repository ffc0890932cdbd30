#include "simulator/engine/step_accounts.hpp"

#include <algorithm>

#include "base/ceil_divide.hpp"
#include "simulator/engine/draft_acceptance.hpp"

namespace roofcast {
namespace {

/// Tokens whose K and V are in the cache when a request ends: the last is never fed back.
std::int64_t final_tokens(const RequestState& request) {
  return request.input_tokens + request.output_tokens - 1;
}

/// Tokens that the sequences in `running` have computed, including the steps decided: those of all
/// steps, less those of requests that have left.
std::int64_t cached_tokens(const EngineCounters& counters) {
  return counters.prefill_tokens + counters.decode_tokens - counters.dropped_tokens;
}

/// Counts what contiguous ranges leave unused in the step that starts.
void account_ranges(EngineState& state) {
  EngineCounters& counters = state.counters;
  counters.unused = state.blocks.unfilled(counters.final_tokens);
  counters.stranded = 0;
  if (state.waiting.empty()) return;
  const RequestState& next = state[state.waiting.front()];
  counters.stranded = static_cast<double>(state.blocks.in_short_ranges(
      reserved_tokens(state.engine, next.input_tokens, next.output_tokens)));
}

/// A decode of one token and `drafts` more to verify: adds it to the batch and counts the accepted
/// tokens. Drafts beyond the end of the output are verified and discarded. Returns how many tokens
/// it gives.
std::int64_t commit_decode(EngineState& state, RequestId id, std::int64_t drafts,
                           const std::vector<AttentionSpan>& spans, StepBatch& batch) {
  RequestState& request = state[id];
  ++batch.decode_sequences;
  batch.decode_new_tokens = std::max(batch.decode_new_tokens, 1 + drafts);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    batch.decode_attended[i] += attended_tokens(spans[i], request.computed + drafts);
  }
  keep_longest(batch, request.computed + drafts + 1);
  std::int64_t accepted = 0;
  if (drafts > 0) {
    accepted = accepted_drafts(state.engine.speculation, state.seed, id, request.generated, drafts);
    accepted = std::min(accepted, request.output_tokens - request.generated - 1);
    ++state.counters.decodes_with_drafts;
    state.counters.drafted_tokens += drafts;
    state.counters.accepted_tokens += accepted;
  }
  state.counters.decode_tokens += 1 + accepted;
  request.computed += 1 + accepted;
  request.generated += 1 + accepted;
  return 1 + accepted;
}

/// Images of a prompt that begin among its first `tokens` tokens.
std::int64_t images_begun(const Request& request, std::int64_t tokens) {
  const std::int64_t beyond = std::max<std::int64_t>(0, tokens - request.images_begin);
  return std::min<std::int64_t>(request.images, ceil_divide(beyond, request.image_tokens));
}

/// An image is encoded in the step that computes its first token, whole (vLLM 0.19, v1/core/sched/
/// scheduler.py, _try_schedule_encoder_inputs; SGLang 0.5.15, managers/mm_utils.py, of the chunk's
/// items): after a preemption again. Neglects the encoder's budget of a step, which its tokens
/// exceed by less than an image.
void commit_images(const Request& request, std::int64_t computed, std::int64_t tokens,
                   StepBatch& batch) {
  const std::int64_t begun =
      images_begun(request, computed + tokens) - images_begun(request, computed);
  if (begun == 0) return;
  batch.images += begun;
  batch.image_tokens = request.image_tokens;
}

}  // namespace

void enqueue(EngineState& state, const BatchingPolicy& policy, RequestId id) {
  RequestState& request = state[id];
  request.max_tokens = reserved_output(policy, state, request);
  if (state.engine.scheduler_recv_interval > 1) {
    state.arrived.push_back(id);
  } else {
    state.waiting.push_back(id, request.priority);
  }
}

void account_moves(EngineState& state, const StepPlan& plan, Nanoseconds now) {
  for (RequestId id : plan.admitted) {
    RequestRecord& record = state.requests.record(id);
    RequestState& request = state[id];
    if (record.scheduled == kNever) {
      record.scheduled = now;
      record.cached_tokens = std::min(request.computed, request.input_tokens);
    }
    if (request.emitted > 0 && record.first_token == kNever) {  // emitted by a prefill replica
      record.first_token = request.last_token = now;
    }
    state.counters.waiting_time += static_cast<double>(now - request.waiting_since);
    state.counters.dropped_tokens -= request.computed;
    state.counters.final_tokens += final_tokens(request);
  }
  for (RequestId id : plan.preempted) {
    ++state.requests.record(id).preemptions;
    ++state.counters.preemptions;
    state[id].waiting_since = now;
    state.counters.final_tokens -= final_tokens(state[id]);
  }
}

void account_finish(EngineState& state, RequestId id) {
  state.counters.dropped_tokens += state[id].computed;
  state.counters.final_tokens -= final_tokens(state[id]);
}

void account_levels(EngineState& state) {
  EngineCounters& counters = state.counters;
  counters.running = static_cast<std::int64_t>(state.running.size());
  counters.blocks = state.blocks.used();
  counters.peak_blocks = std::max(counters.peak_blocks, counters.blocks);
  counters.empty = state.blocks.unfilled(cached_tokens(counters));
  counters.peak_empty = std::max(counters.peak_empty, counters.empty);
  if (state.blocks.contiguous()) account_ranges(state);
}

void account_step(EngineState& state, Nanoseconds duration) {
  ++state.counters.steps;
  account_levels(state);
  account_more_time(state, duration);
}

void account_more_time(EngineState& state, Nanoseconds more) {
  EngineCounters& counters = state.counters;
  const auto time = static_cast<double>(more);
  counters.busy += more;
  counters.block_time += time * static_cast<double>(counters.blocks);
  counters.empty_time += time * counters.empty;
  counters.unused_time += time * counters.unused;
  counters.stranded_time += time * counters.stranded;
  counters.running_time += time * static_cast<double>(counters.running);
}

void clear(StepBatch& batch, std::size_t spans) {
  batch.prefills.clear();
  batch.images = 0;
  batch.decode_sequences = 0;
  batch.decode_new_tokens = 1;
  batch.decode_attended.assign(spans, 0);
  batch.decode_longest.fill(0);
}

void commit(EngineState& state, StepPlan& plan, const std::vector<AttentionSpan>& spans,
            StepBatch& batch) {
  for (const auto& [id, tokens] : plan.scheduled) {
    RequestState& request = state[id];
    if (request.decoding()) {
      plan.sampled.push_back(
          {.request = id, .tokens = commit_decode(state, id, tokens - 1, spans, batch)});
      continue;
    }
    batch.prefills.push_back({.new_tokens = tokens,
                              .context_tokens = request.computed,
                              .emits_token = tokens == request.uncomputed()});
    const Request& asked = state.requests.record(id).request;
    if (asked.images > 0) commit_images(asked, request.computed, tokens, batch);
    state.counters.prefill_tokens += tokens;
    request.computed += tokens;
    if (request.uncomputed() > 0) continue;
    ++request.generated;
    plan.sampled.push_back({.request = id, .tokens = 1});
  }
}

std::int64_t next_chunk(const Engine& engine, const RequestState& request) {
  const std::int64_t interval = engine.stream_interval;
  if (interval == 1 || request.emitted == 0) return request.emitted + 1;
  switch (traits_of(engine.scheduler).stream_chunks) {
    case StreamChunks::multiples:
      return (request.emitted / interval + 1) * interval;
    case StreamChunks::after_first:
      return ((request.emitted - 1) / interval + 1) * interval + 1;
    case StreamChunks::after_last:
      break;
  }
  return request.streamed + interval;
}

bool sends_chunk(const Engine& engine, const RequestState& request) {
  const std::int64_t interval = engine.stream_interval;
  if (interval == 1 || request.streamed == 0) return true;
  switch (traits_of(engine.scheduler).stream_chunks) {
    case StreamChunks::multiples:
      return request.emitted / interval > request.streamed / interval;
    case StreamChunks::after_first:
      return request.emitted % interval == 1;
    case StreamChunks::after_last:
      break;
  }
  return request.emitted - request.streamed >= interval;
}

bool emit(EngineState& state, const ScheduledTokens& sampled, Nanoseconds now, TokenGaps& gaps) {
  const RequestId id = sampled.request;
  RequestState& request = state[id];
  RequestRecord& record = state.requests.record(id);
  request.emitted += sampled.tokens;
  const bool last = request.emitted == request.output_tokens;
  if (!last && !sends_chunk(state.engine, request)) return false;
  if (record.first_token == kNever) {
    record.first_token = now;
  } else {
    const Nanoseconds gap = now - request.last_token;
    record.largest_gap = std::max(record.largest_gap, gap);
    if (state.held_gaps) {
      state.held_gaps->add(id, gap);
    } else {
      gaps.add(gaps.index_of(record.request), gap);
    }
  }
  request.last_token = now;
  request.streamed = request.emitted;
  if (!last) return false;
  record.finished = now;
  if (state.held_gaps) state.held_gaps->release(id, gaps.index_of(record.request), gaps);
  return true;
}

void finish_sampled(EngineState& state, BatchingPolicy& policy,
                    const std::vector<ScheduledTokens>& sampled, Nanoseconds now, TokenGaps& gaps,
                    std::vector<RequestId>& finished) {
  bool any_finished = false;
  for (const ScheduledTokens& of_request : sampled) {
    any_finished |= emit(state, of_request, now, gaps);
  }
  if (!any_finished) return;
  // In order of admission, regardless of the order in which they were scheduled.
  std::erase_if(state.running, [&](RequestId id) {
    const RequestState& request = state[id];
    const bool ended = request.emitted == request.output_tokens;
    if (ended) finished.push_back(id);
    return ended;
  });
  for (RequestId id : finished) {
    account_finish(state, id);
    policy.finish(state, id);
    state.requests.leave(id);
  }
}

std::vector<RequestId> evacuate(EngineState& state, BatchingPolicy& policy) {
  std::vector<RequestId> all = std::move(state.running);
  for (; !state.waiting.empty(); state.waiting.pop_front()) all.push_back(state.waiting.front());
  all.insert(all.end(), state.arrived.begin(), state.arrived.end());
  state.running.clear();
  state.arrived.clear();
  if (state.held_gaps) state.held_gaps->clear();
  for (RequestId id : all) {
    policy.abandon(state, id);
    state.requests.leave(id);
  }
  return all;
}

EngineLoad load_of(const EngineState& state) {
  return {.running = static_cast<std::int64_t>(state.running.size()),
          .waiting = std::ssize(state.arrived) + static_cast<std::int64_t>(state.waiting.size()),
          .blocks_used = state.blocks.used(),
          .blocks_empty = state.blocks.unfilled(cached_tokens(state.counters)),
          .blocks_usable = state.blocks.usable()};
}

}  // namespace roofcast

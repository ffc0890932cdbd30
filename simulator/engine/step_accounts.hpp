// Bookkeeping shared by both engines.
#pragma once

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// Adds a request, already in the table, to the queue.
void enqueue(EngineState& state, const BatchingPolicy& policy, RequestId id);

/// Counts the admissions and preemptions of a decision taken at `now`.
void account_moves(EngineState& state, const StepPlan& plan, Nanoseconds now);

/// Counts the K and V of a request that is about to release them, having finished.
void account_finish(EngineState& state, RequestId id);

/// Updates what the counters say of the latest step: its requests and blocks.
void account_levels(EngineState& state);

/// Counts a step that starts now and takes `duration`.
void account_step(EngineState& state, Nanoseconds duration);

/// Extends the accounted time of the step in progress by `more`; shortens it if negative.
void account_more_time(EngineState& state, Nanoseconds more);

/// Counts what the plan schedules as computed, records in the plan which requests sample a token,
/// and adds it to the input of the step time.
void commit(EngineState& state, StepPlan& plan, const std::vector<AttentionSpan>& spans,
            StepBatch& batch);

/// Resets the batch to empty.
void clear(StepBatch& batch, std::size_t spans);

/// Whether the server sends what it holds of an unfinished request, once it has `emitted` tokens:
/// the first token at once, then chunks of stream_interval tokens.
bool sends_chunk(const Engine& engine, const RequestState& request);

/// The number of emitted tokens with which the next chunk is sent, if they come one by one.
std::int64_t next_chunk(const Engine& engine, const RequestState& request);

/// Sends the client the tokens that a step sampled for a request, at `now`: one, or with drafts
/// several in one chunk. Chunks are separated by one gap, as `vllm bench serve` measures ITL, so
/// with drafts ITL is longer than TPOT. With stream_interval the server holds tokens back until the
/// next chunk. The gap goes into the log, or is held until the request finishes. Returns true if
/// this was the last token.
bool emit(EngineState& state, const ScheduledTokens& sampled, Nanoseconds now, TokenGaps& gaps);

/// Ends a step at `now`: its tokens appear, and finished requests leave `running` and the table.
/// Appends these to `finished`, in order of admission.
void finish_sampled(EngineState& state, BatchingPolicy& policy,
                    const std::vector<ScheduledTokens>& sampled, Nanoseconds now, TokenGaps& gaps,
                    std::vector<RequestId>& finished);

/// Removes all requests from the engine and the table, and returns them, running ones first.
std::vector<RequestId> evacuate(EngineState& state, BatchingPolicy& policy);

EngineLoad load_of(const EngineState& state);

}  // namespace roofcast

// What both engines keep account of in the same way.
#pragma once

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// A request that has entered the table joins the queue.
void enqueue(EngineState& state, RequestId id);

/// Admissions and preemptions of a decision taken at `now`.
void account_moves(EngineState& state, const StepPlan& plan, Nanoseconds now);

/// A step that starts now and takes `duration`.
void account_step(EngineState& state, Nanoseconds duration);

/// The step in progress takes `more` time than was accounted for; less, when negative.
void account_more_time(EngineState& state, Nanoseconds more);

/// Counts what the plan schedules as computed, notes in it who samples a token, and adds it to what
/// the step time is asked for.
void commit(EngineState& state, StepPlan& plan, const std::vector<AttentionSpan>& spans,
            StepBatch& batch);

/// Nothing runs in the batch yet.
void clear(StepBatch& batch, std::size_t spans);

/// The client gets what the step has sampled of the request, at `now`: one token, or with drafts
/// several at once. They come in one chunk, and between chunks lies one gap, as `vllm bench serve`
/// measures ITL; so with drafts ITL is longer than TPOT. True when it was the last. The gap goes
/// into the log, or is held until then.
bool emit_token(EngineState& state, RequestId id, Nanoseconds now, TokenGaps& gaps);

/// Everybody in the engine, running ones first, leaves it and the table.
std::vector<RequestId> evacuate(EngineState& state, BatchingPolicy& policy);

EngineLoad load_of(const EngineState& state);

}  // namespace roofcast

// One engine replica: queue, running requests and KV blocks, advanced one step at a time. The
// caller owns time: it starts a step, and finishes it when its end has come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/results/result.hpp"
#include "simulator/results/token_gaps.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {

/// Sums over the steps, from which EngineUse is made.
struct EngineCounters {
  std::int64_t steps = 0;
  std::int64_t prefill_tokens = 0;
  std::int64_t decode_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t peak_running = 0;
  std::int64_t peak_waiting = 0;
  std::int64_t peak_blocks = 0;
  Nanoseconds busy = 0;
  // Integrals over time, in nanoseconds times blocks or requests. As doubles: their sums pass 2^63
  // on long runs, and they are added in one fixed order.
  double block_time = 0;
  double running_time = 0;
  double waiting_time = 0;
};

class EngineLoop {
 public:
  /// `records` and `gaps` outlive the loop and get what happens to each request.
  EngineLoop(const Replica& replica, std::vector<RequestRecord>& records, TokenGaps& gaps);

  /// A request joins the queue; it has been there since its record's `queued`.
  void enqueue(RequestId id);

  /// Decides a step at `now` and returns its end; nothing when no request can run. A request that
  /// is enqueued while a step is in progress is seen by the next one.
  std::optional<Nanoseconds> start_step(Nanoseconds now);

  /// Ends the step in progress: tokens appear, requests finish. Returns how many finished.
  std::int64_t finish_step();

  const EngineState& state() const { return state_; }
  const EngineCounters& counters() const { return counters_; }
  /// The step in progress: what was chosen and what its time was asked for.
  const StepPlan& plan() const { return plan_; }
  const StepBatch& batch() const { return batch_; }

 private:
  void choose(Nanoseconds now);
  void account_moves(Nanoseconds now);
  void build_batch();
  bool emit_token(RequestId id);

  const StepTime* step_time_;
  std::vector<RequestRecord>& records_;
  TokenGaps& gaps_;
  EngineState state_;
  std::unique_ptr<BatchingPolicy> policy_;
  StepPlan plan_;
  StepBatch batch_;
  Nanoseconds step_end_ = 0;
  EngineCounters counters_;
};

/// The counters as shares and means over `makespan`.
EngineUse engine_use(const EngineLoop& engine, Nanoseconds makespan);

}  // namespace roofcast

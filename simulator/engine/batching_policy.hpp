// The seam for schedulers: which requests run in the next step, and how many tokens of each.
// One file per scheduler (policy_*.hpp) implements it; the engine does the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/engines/engine.hpp"
#include "simulator/engine/kv_blocks.hpp"
#include "simulator/engine/replica_engine.hpp"
#include "simulator/engine/request_table.hpp"
#include "simulator/engine/waiting_queue.hpp"
#include "simulator/time.hpp"

namespace roofcast {

/// All that a scheduler sees and changes.
struct EngineState {
  Engine engine;
  KvBlocks blocks;
  WaitingQueue waiting;
  std::vector<RequestId> running{};  // in order of admission
  RequestTable& requests;
  EngineCounters counters{};
  std::uint64_t seed = 0;               // Replica::seed
  std::optional<HeldGaps> held_gaps{};  // with GapCounting::when_finished

  RequestState& operator[](RequestId id) { return requests[id]; }
  const RequestState& operator[](RequestId id) const { return requests[id]; }
};

struct ScheduledTokens {
  RequestId request = 0;
  std::int64_t tokens = 0;
};

/// What one step does.
struct StepPlan {
  std::vector<ScheduledTokens> scheduled;  // in the order chosen, each request at most once
  std::vector<RequestId> admitted;         // moved from waiting to running
  std::vector<RequestId> preempted;        // moved from running to waiting
  std::vector<RequestId> sampled;  // of the scheduled: their sequence is computed to its end
  Seconds added{};                 // to the step's time, for adapters and drafts

  void clear() {
    scheduled.clear();
    admitted.clear();
    preempted.clear();
    sampled.clear();
    added = {};
  }
};

/// The decode batch of an engine that keeps it in aggregate, when a step is decided.
struct DecodeLoad {
  std::int64_t sequences = 0;  // each would go on by one token,
  std::int64_t rows = 0;       // for which they need so many blocks more,
  std::int64_t rows_back = 0;  // and others of them give so many back: they have left windows
  /// Running requests that are not in it, without those that are complete(); in running order.
  std::span<const RequestId> others{};
};

class BatchingPolicy {
 public:
  virtual ~BatchingPolicy() = default;

  /// Fills `plan` (given empty; `sampled` is the engine's) and moves requests between `waiting` and
  /// `running`, with blocks for all that is scheduled. An empty plan means that nothing can run at
  /// `now`. Requests that are complete() stand in `running` until the step that samples their last
  /// token has ended: they are neither scheduled nor preempted.
  virtual void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) = 0;

  /// The decision that schedule() would take, for an engine whose decode batch is kept in
  /// aggregate: the states of its requests are not up to date and not to be looked at. Returns
  /// whether the batch goes on by a token each (its rows are then taken from the pool, the plan
  /// holds all else); nothing, with nothing changed, when the decision needs a look at each of
  /// them: schedule() is asked then.
  virtual std::optional<bool> schedule_around(EngineState&, Nanoseconds, const DecodeLoad&,
                                              StepPlan&) {
    return std::nullopt;
  }

  /// Whether schedule_around() answers in the steady state.
  virtual bool schedules_in_aggregate() const { return false; }

  /// A request has finished: its K and V are given back.
  virtual void finish(EngineState& state, RequestId id) = 0;

  /// A request leaves the engine unfinished, which schedules nothing more: its K and V are given
  /// back.
  virtual void abandon(EngineState& state, RequestId id) { state.blocks.release(state[id].kv); }

  /// When schedule() found nothing though requests wait: the time to try again, if any.
  virtual std::optional<Nanoseconds> next_wake(const EngineState&) const { return std::nullopt; }

  /// Tokens of the request's prompt that are cached.
  virtual std::int64_t cached_tokens(const EngineState& state, RequestId id) const = 0;
};

/// For schedule_around: all of the batch goes on by a token, beside nothing else, where there are
/// blocks for it.
std::optional<bool> decode_alone(EngineState& state, const DecodeLoad& load);

/// Takes a request out of the cache and puts it back to the head of the queue, to be computed
/// again from its first token. The caller has taken it out of `running`.
void preempt(EngineState& state, RequestId id);

/// The policy of the engine's scheduler. Throws Error when it is not simulated.
std::unique_ptr<BatchingPolicy> make_policy(const Engine& engine);

}  // namespace roofcast

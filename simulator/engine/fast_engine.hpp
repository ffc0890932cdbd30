// The engine with its decode batch in aggregate: a step costs what changes in it, not what runs.
// Unfinished prompts, arrivals and endings are looked at one by one; when a decision needs a look
// at every running request (blocks have run out), the batch is dissolved and the policy asked as
// the plain engine asks it. Same results as PlainEngine, to the nanosecond.
#pragma once

#include <utility>

#include "simulator/engine/decode_batch.hpp"
#include "simulator/engine/step_accounts.hpp"

namespace roofcast {

/// A decided step: what the policy chose, and the part of the batch.
struct FastStep {
  StepPlan plan{};
  StepBatch batch{};
  bool decodes = false;                 // the batch goes on by a token each,
  std::int64_t tick = 0;                // to this tick of its:
  std::vector<std::int64_t> members{};  // so many requests, by the log of their gaps,
  std::vector<RequestId> fresh{};       // of whom these do so for the first time,
  std::vector<RequestId> completed{};   // and these for the last

  bool empty() const { return plan.scheduled.empty() && !decodes; }
  /// Nobody comes into the batch or leaves it, and nothing runs beside it.
  bool only_batch() const {
    return decodes && plan.scheduled.empty() && fresh.empty() && completed.empty();
  }
  void clear();
};

/// The longest of the latest gaps between steps of the batch, since any tick.
class GapMaxima {
 public:
  void add(std::int64_t tick, Nanoseconds gap);
  /// 0 when there was none from `tick` on.
  Nanoseconds since(std::int64_t tick) const;

 private:
  // Each the longest from its tick on: ticks ascend, gaps descend.
  std::vector<std::pair<std::int64_t, Nanoseconds>> longest_;
};

class FastEngine final : public ReplicaEngine {
 public:
  /// `table` and `gaps` outlive the engine and get what happens to each request.
  FastEngine(const Replica& replica, RequestTable& table, TokenGaps& gaps,
             std::unique_ptr<BatchingPolicy> policy);

  void enqueue(RequestId id) override { roofcast::enqueue(state_, id); }
  std::optional<Nanoseconds> start_step(Nanoseconds now) override;
  std::optional<Nanoseconds> start_steps(Nanoseconds now, Nanoseconds horizon) override;
  void move_step_end(Nanoseconds end) override;
  std::span<const RequestId> finish_step() override;
  std::optional<Nanoseconds> next_wake() const override { return policy_->next_wake(state_); }
  std::vector<RequestId> evacuate() override;
  EngineLoad load() const override { return load_of(state_); }
  std::int64_t cached_tokens(RequestId id) const override {
    return policy_->cached_tokens(state_, id);
  }
  const EngineCounters& counters() const override { return state_.counters; }

 private:
  void decide(Nanoseconds now, FastStep& step);
  bool decide_around(Nanoseconds now, FastStep& step);
  void decide_one_by_one(Nanoseconds now, FastStep& step);
  void advance_batch(FastStep& step);
  void gather();
  std::optional<DecodeLoad> quiet_load();
  bool run_quiet_step(Nanoseconds& now, Nanoseconds horizon);
  void dissolve();
  void emit_from_batch();
  void emit_gap(std::int64_t tick, const std::vector<std::int64_t>& members);
  void remove_finished();

  const StepTime* step_time_;
  TokenGaps& gaps_;
  EngineState state_;
  std::unique_ptr<BatchingPolicy> policy_;
  DecodeBatch decoding_;
  std::vector<RequestId> others_;      // running, not in the batch, not complete; in running order
  std::vector<RequestId> fresh_;       // joined since the last tick
  std::vector<std::int64_t> members_;  // of the batch, by the log of their gaps
  FastStep step_;                      // in progress
  FastStep next_;                      // decided while it runs, with asynchronous scheduling
  bool in_progress_ = false;
  Nanoseconds step_end_ = 0;
  Nanoseconds last_batch_end_ = 0;  // of the last finished step in which the batch went on
  GapMaxima maxima_;
  int one_by_one_ = 0;  // so many decisions more without the batch,
  int backoff_ = 0;     // and so many after the next failure
  std::vector<RequestId> finished_;
};

}  // namespace roofcast

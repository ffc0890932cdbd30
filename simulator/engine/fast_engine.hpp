// The engine with its decode batch in aggregate: the cost of a step depends on what changes in it,
// not on what runs. Unfinished prompts, arrivals and completions are handled one by one. If a
// decision depends on every running request (the pool is out of blocks), the batch is dissolved and
// the policy is called as in PlainEngine. Results equal PlainEngine's to the nanosecond.
#pragma once

#include <array>
#include <utility>

#include "simulator/engine/decode_batch.hpp"
#include "simulator/engine/step_accounts.hpp"

namespace roofcast {

/// A decided step: the policy's choice, and what the batch contributes.
struct FastStep {
  StepPlan plan{};
  StepBatch batch{};
  bool decodes = false;                 // every request of the batch gains a token,
  std::int64_t tick = 0;                // at this tick of the batch:
  std::vector<std::int64_t> members{};  // number of these requests, by the log of their gaps
  std::vector<RequestId> fresh{};       // requests in their first step in the batch
  std::vector<RequestId> completed{};   // requests in their last

  bool empty() const { return plan.scheduled.empty() && !decodes; }
  /// No request joins or leaves the batch, and nothing runs outside it.
  bool only_batch() const {
    return decodes && plan.scheduled.empty() && fresh.empty() && completed.empty();
  }
  void clear();
};

/// Maximum gap between steps of the batch since a given tick.
class GapMaxima {
 public:
  void add(std::int64_t tick, Nanoseconds gap);
  /// Returns 0 if there was no gap from `tick` on.
  Nanoseconds since(std::int64_t tick) const;

 private:
  // Each entry is the maximum from its tick on: ticks ascend, gaps descend.
  std::vector<std::pair<std::int64_t, Nanoseconds>> longest_;
};

/// When the latest steps of the batch ended, by tick.
class StepEnds {
 public:
  /// Ticks come one by one.
  void add(std::int64_t tick, Nanoseconds end);
  Nanoseconds at(std::int64_t tick) const { return ends_[static_cast<std::size_t>(tick - first_)]; }
  std::size_t size() const { return ends_.size(); }
  void clear() { ends_.clear(); }

 private:
  std::int64_t first_ = 0;
  std::vector<Nanoseconds> ends_;
};

class FastEngine final : public ReplicaEngine {
 public:
  /// `table` and `gaps` must outlive the engine; they record what happens to each request.
  FastEngine(const Replica& replica, RequestTable& table, TokenGaps& gaps,
             std::unique_ptr<BatchingPolicy> policy);
  FastEngine(const FastEngine&) = delete;
  FastEngine& operator=(const FastEngine&) = delete;

  void enqueue(RequestId id) override { roofcast::enqueue(state_, *policy_, id); }
  std::optional<Nanoseconds> start_step(Nanoseconds now) override;
  void number_step(std::int64_t steps) override { state_.step_number = steps; }
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
  void emit_chunks(RequestId id, std::int64_t tokens);
  bool chunked() const { return state_.engine.stream_interval > 1; }
  void remove_finished();

  const StepTime* step_time_;
  TokenGaps& gaps_;
  EngineState state_;
  std::unique_ptr<BatchingPolicy> policy_;
  DecodeBatch decoding_;
  std::vector<RequestId> unbatched_;     // running, outside the batch, not complete; in running
                                         // order
  std::vector<RequestId> newly_joined_;  // joined since the last tick
  std::vector<std::int64_t> members_;    // number of batch members, by the log of their gaps
  std::array<FastStep, 2> steps_;        // they take turns:
  FastStep* step_ = &steps_[0];          // in progress
  FastStep* next_ = &steps_[1];          // decided while step_ runs, with asynchronous scheduling
  bool in_progress_ = false;
  Nanoseconds step_end_ = 0;
  Nanoseconds last_batch_end_ = 0;  // end of the last step in which the batch decoded
  GapMaxima maxima_;
  StepEnds ends_;       // if chunked()
  int one_by_one_ = 0;  // decisions left to take without the batch
  int backoff_ = 0;     // and how many after the next failure
  std::vector<RequestId> finished_;
};

}  // namespace roofcast

// The seam for schedulers: which requests run in the next step, and how many tokens of each.
// One file per scheduler (policy_*.hpp) implements it; the engine loop does the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/engine.hpp"
#include "simulator/engine/kv_blocks.hpp"
#include "simulator/engine/waiting_queue.hpp"
#include "simulator/time.hpp"

namespace roofcast {

/// A request inside an engine. `computed` tokens have their K and V cached; the sequence so far is
/// the prompt and what was generated, so a decoding request has computed + 1 tokens.
struct RequestState {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t priority = 0;
  std::int64_t computed = 0;
  std::int64_t generated = 0;
  KvHolding kv{};
  Nanoseconds last_token = 0;
  Nanoseconds waiting_since = 0;

  std::int64_t tokens() const { return input_tokens + generated; }
  std::int64_t uncomputed() const { return tokens() - computed; }
  bool decoding() const { return generated > 0 && uncomputed() == 1; }
};

/// All that a scheduler sees and changes.
struct EngineState {
  Engine engine;
  KvBlocks blocks;
  WaitingQueue waiting;
  std::vector<RequestId> running;      // in order of admission
  std::vector<RequestState> requests;  // by RequestId
  std::int64_t recomputed_tokens = 0;  // cached and then lost to preemption

  RequestState& operator[](RequestId id) { return requests[static_cast<std::size_t>(id)]; }
  const RequestState& operator[](RequestId id) const {
    return requests[static_cast<std::size_t>(id)];
  }
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

  void clear() {
    scheduled.clear();
    admitted.clear();
    preempted.clear();
  }
};

class BatchingPolicy {
 public:
  virtual ~BatchingPolicy() = default;

  /// Fills `plan` (given empty) and moves requests between `waiting` and `running`, with blocks
  /// for all that is scheduled. An empty plan means that nothing can run now.
  virtual void schedule(EngineState& state, StepPlan& plan) const = 0;
};

/// Takes a request out of the cache and puts it back to the head of the queue, to be computed
/// again from its first token. The caller has taken it out of `running`.
void preempt(EngineState& state, RequestId id);

/// The policy of the engine's scheduler. Throws Error when it is not simulated.
std::unique_ptr<BatchingPolicy> make_policy(const Engine& engine);

}  // namespace roofcast

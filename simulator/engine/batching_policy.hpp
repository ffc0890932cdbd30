// The interface of schedulers: which requests run in the next step, and how many tokens of each.
// One file per scheduler (policy_*.cpp) implements it; the engine does the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/cache/kv_cache.hpp"
#include "model/engines/engine.hpp"
#include "simulator/engine/kv_blocks.hpp"
#include "simulator/engine/replica_engine.hpp"
#include "simulator/engine/request_table.hpp"
#include "simulator/engine/waiting_queue.hpp"
#include "simulator/time.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Everything that a scheduler reads and changes.
struct EngineState {
  Engine engine;
  KvBlocks blocks;
  WaitingQueue waiting;
  std::vector<RequestId>
      arrived{};  // before the scheduler looks for them (scheduler_recv_interval), in order
  std::vector<RequestId> running{};  // in order of admission
  RequestTable& requests;
  EngineCounters counters{};
  std::uint64_t seed = 0;               // Replica::seed
  std::optional<HeldGaps> held_gaps{};  // used with GapCounting::when_finished
  bool holds_prompts = false;  // prompts stay out of the step that is decided (PromptBalance)
  /// Number of the step that is decided among those of the ranks in lockstep since all were idle.
  std::optional<std::int64_t> step_number{};
  // For a pipeline (PipelinedEngine):
  std::int64_t micro_batches = 1;  // steps that may be in progress at once
  std::int64_t in_progress = 0;    // steps in progress when the next is decided
  std::int64_t slot = 0;           // place of the step decided next, for schedulers that keep
                                   // micro-batches apart

  /// Whether a request must wait for a token that a step in progress samples, in a pipeline.
  bool awaits_token(const RequestState& request) const {
    return micro_batches > 1 && request.generated > request.emitted;
  }
  /// Whether a running request has something to compute that can be scheduled now.
  bool can_run(const RequestState& request) const {
    return !request.complete() && !awaits_token(request);
  }

  RequestState& operator[](RequestId id) { return requests[id]; }
  const RequestState& operator[](RequestId id) const { return requests[id]; }
};

struct ScheduledTokens {
  RequestId request = 0;
  std::int64_t tokens = 0;
};

/// The requests of one step and the tokens it computes.
struct StepPlan {
  std::vector<ScheduledTokens> scheduled;  // in the order chosen, each request at most once
  std::vector<RequestId> admitted;         // moved from waiting to running
  std::vector<RequestId> preempted;        // moved from running to waiting
  std::vector<ScheduledTokens> sampled;    // tokens given to those that are computed to their end
  Seconds added{};                         // to the step's time: adapters and drafts
  Seconds loading{};                       // that the step takes at least: K and V from host memory

  void clear() {
    scheduled.clear();
    admitted.clear();
    preempted.clear();
    sampled.clear();
    added = loading = {};
  }
};

/// The decode batch of an engine that keeps it in aggregate, at the time a step is decided.
struct DecodeLoad {
  std::int64_t sequences = 0;        // each would gain one token
  std::int64_t rows = 0;             // pool blocks needed for these tokens
  std::int64_t returned_blocks = 0;  // pool blocks that sequences return because they have left
                                     // attention windows
  /// Running requests outside the batch, except those that are complete(), in running order.
  std::span<const RequestId> others{};
};

/// Tokens that a request needs at worst.
struct Demand {
  std::int64_t cached = 0;     // tokens in the KV cache
  std::int64_t in_flight = 0;  // the most of them that one step adds
  std::int64_t at_once = 0;    // tokens of its prompt that one step must have room for
  std::int64_t decode = 0;     // the same of a decode, with its drafts
};

/// The demand under a scheduler that preempts: all tokens computed before are then computed again,
/// in one step unless prompts are chunked. `smallest_chunk` is in tokens. Includes slots for
/// drafts.
Demand demand_if_recomputed(const Engine& engine, const Request& request,
                            std::int64_t smallest_chunk = 1);

/// The demand under one that reserves blocks for prompt and output up front and computes the prompt
/// once.
Demand demand_if_reserved(const Engine& engine, const Request& request,
                          std::int64_t smallest_chunk = 1);

class BatchingPolicy {
 public:
  virtual ~BatchingPolicy() = default;

  /// Fills `plan` (passed empty; the engine fills `sampled`), moves requests between `waiting` and
  /// `running` and takes blocks for all that is scheduled. An empty plan means that nothing can run
  /// at `now`. Requests that are complete() stay in `running` until the step that samples their
  /// last token ends; they are neither scheduled nor preempted. Those that await a token are not
  /// scheduled either.
  virtual void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) = 0;

  /// Chooses what may run in the next step, without starting it: schedule() follows at once, with
  /// the same plan, and computes it, except prompts if `holds_prompts` is set meanwhile.
  virtual StepOffer offer(EngineState&, StepPlan&) { return {}; }

  /// Takes the same decision as schedule() for an engine that keeps its decode batch in aggregate:
  /// the states of the batch's requests are not up to date and must not be read. Returns whether
  /// every request of the batch gains a token; if so, their blocks have been taken from the pool.
  /// The plan holds everything else. Returns nullopt, with nothing changed, if the decision depends
  /// on single requests of the batch; the caller then uses schedule().
  virtual std::optional<bool> schedule_around(EngineState&, Nanoseconds, const DecodeLoad&,
                                              StepPlan&) {
    return std::nullopt;
  }

  /// Whether schedule_around() can decide in the steady state.
  virtual bool schedules_in_aggregate() const { return false; }

  /// Whether each micro-batch of a pipeline has running requests of its own (EngineState::slot).
  /// Otherwise a step takes all requests that do not await a token.
  virtual bool keeps_micro_batches() const { return false; }

  /// Releases the K and V of a request that has finished.
  virtual void finish(EngineState& state, RequestId id) = 0;

  /// Releases the K and V of a request that leaves the engine unfinished. The engine schedules
  /// nothing afterwards.
  virtual void abandon(EngineState& state, RequestId id) { state.blocks.release(state[id].kv); }

  /// The demand of a request at worst: one that needs more than its replica has is rejected before
  /// the run.
  virtual Demand demand_of(const Engine& engine, const Request& request,
                           const CacheLayout& layout) const = 0;

  /// Why a step has no room for Demand::at_once, with the engine's own names.
  virtual std::string step_limit(const Engine& engine, const CacheLayout& layout) const;

  /// Whether K and V of output that is not generated yet are reserved before a request starts, so
  /// that what its client declares matters.
  virtual bool reserves_output(const Engine&) const { return false; }

  /// Whether a request that had to give up its K and V computes its prompt again.
  virtual bool recomputes_prompts(const Engine&) const { return true; }

  /// The longest sequence for which K and V may be reserved: prompt and output, in tokens.
  virtual std::int64_t longest_sequence(const EngineState& state, std::int64_t input_tokens) const;

  /// Whether requests may use LoRA adapters.
  virtual bool runs_adapters() const { return false; }

  /// Whether K and V are kept between steps, so that another replica can take them over.
  virtual bool keeps_cache() const { return true; }

  /// When to try again if schedule() found nothing to run although requests wait; nullopt: never.
  virtual std::optional<Nanoseconds> next_wake(const EngineState&) const { return std::nullopt; }

  /// Number of the request's prompt tokens that are cached.
  virtual std::int64_t cached_tokens(const EngineState& state, RequestId id) const = 0;
};

/// The output for which K and V of a request are reserved: what its client declared (`max_tokens`,
/// or kNoMaxTokens for the longest sequence), at least `output_tokens`, and no more than the whole
/// cache holds.
std::int64_t reserved_output(const BatchingPolicy& policy, const EngineState& state,
                             const RequestState& request);

/// A schedule_around() that decodes the whole batch and nothing else, if enough blocks are free.
std::optional<bool> decode_alone(EngineState& state, const DecodeLoad& load);

/// Releases a request's KV cache and puts it at the head of the queue, to be computed again from
/// its first token. The caller has removed it from `running`.
void preempt(EngineState& state, RequestId id);

/// The replica's KV cache, empty. Cached prefixes of models with recurrent layers restart from
/// states that were kept where vLLM keeps them (mamba_cache_mode "align").
KvBlocks kv_blocks_of(const Replica& replica);

/// Returns the policy of the engine's scheduler. Throws Error if that scheduler is not simulated.
std::unique_ptr<BatchingPolicy> make_policy(const Engine& engine);

}  // namespace roofcast

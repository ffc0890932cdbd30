// Interface of one engine replica: a queue that takes requests, and steps. The caller owns time: it
// starts a step and finishes it when its end has come, so that a cluster can drive many replicas
// from one event queue.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/cache/kv_cache.hpp"
#include "model/engines/engine.hpp"
#include "model/step/step_time.hpp"
#include "simulator/engine/request_table.hpp"
#include "simulator/results/result.hpp"
#include "simulator/results/token_gaps.hpp"

namespace roofcast {

/// Everything an engine needs to know about its hardware and configuration.
struct Replica {
  Engine engine{};
  CacheLayout layout{};
  std::int64_t kv_blocks = 0;  // block ids, the null block included
  const StepTime* step_time = nullptr;
  std::uint64_t seed = 0;  // of the run; determines which drafts are accepted
};

/// Sums over the steps, the source of EngineUse.
struct EngineCounters : EngineCounts {
  std::int64_t decodes_with_drafts = 0;
  std::int64_t drafted_tokens = 0;
  std::int64_t accepted_tokens = 0;
  std::int64_t dropped_tokens = 0;  // K and V released, less those found when admitted
  std::int64_t final_tokens = 0;    // of the running requests: computed when they end
  std::int64_t running = 0;         // in the latest step, like `blocks`
  std::int64_t blocks = 0;
  std::int64_t peak_blocks = 0;
  double empty =
      0;  // in the latest step: allocated without K and V, in blocks (KvBlocks::unfilled)
  double peak_empty = 0;
  double unused = 0;     // of these, beyond the end of their requests; contiguous ranges only
  double stranded = 0;   // free, in ranges too short for the next request that waits
  double pass_time = 0;  // for a pipeline: what its steps would take one after the other, in
                         // nanoseconds
  Nanoseconds busy = 0;
  // Integrals over time, in nanoseconds times blocks or requests. Doubles, because the sums exceed
  // 2^63 on long runs; they are added in one fixed order.
  double block_time = 0;
  double empty_time = 0;
  double unused_time = 0;
  double stranded_time = 0;
  double running_time = 0;
  double waiting_time = 0;
};

/// State of a replica that a router may know.
struct EngineLoad {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t blocks_used = 0;
  double blocks_empty = 0;  // of the used ones: room without K and V
  std::int64_t blocks_usable = 0;
};

/// Work that an engine would run in the step that it decides next.
struct StepOffer {
  std::int64_t prompts = 0;      // of which at least a part would be computed
  std::int64_t generations = 0;  // that would gain a token
};

class ReplicaEngine {
 public:
  virtual ~ReplicaEngine() = default;

  /// Adds a request, already in the table, to the queue. If a step is in progress, the request is
  /// considered when the next one is decided.
  virtual void enqueue(RequestId id) = 0;

  /// Starts a step at `now` and returns its end; nullopt if no request can run. Precondition: no
  /// step is in progress.
  virtual std::optional<Nanoseconds> start_step(Nanoseconds now) = 0;

  /// The same, if the caller knows that nothing reaches the replica before `horizon`: the engine
  /// may advance through any number of steps that end before it and in which no request finishes,
  /// and returns the end of the step then in progress.
  virtual std::optional<Nanoseconds> start_steps(Nanoseconds now, Nanoseconds horizon) {
    static_cast<void>(horizon);
    return start_step(now);
  }

  /// Call before start_step() for ranks in lockstep: how many steps they have started since all
  /// were idle.
  virtual void number_step(std::int64_t steps) { static_cast<void>(steps); }

  // For ranks that decide their steps together (PromptBalance); start_step() does all of it for
  // engines that decide alone. Engines that do not look at every request have none of it.

  /// Whether the next step has been decided already.
  virtual bool has_decided() const { return false; }
  /// Chooses what may run in the step that is decided next. Precondition: that step is decided
  /// before anything else happens.
  virtual StepOffer offer_step(Nanoseconds now) {
    static_cast<void>(now);
    return {};
  }
  /// Whether prompts stay out of the steps decided from now on.
  virtual void hold_prompts(bool hold) { static_cast<void>(hold); }
  /// As start_step(), but does not decide the step after this one.
  virtual std::optional<Nanoseconds> begin_step(Nanoseconds now) { return start_step(now); }
  /// Decides the next step while one is in progress, or before the first.
  virtual void decide_step(Nanoseconds now) { static_cast<void>(now); }

  /// Moves the end of the step in progress to `end`: later, because it waits for other engines, or
  /// earlier, because the replica fails (evacuate() follows).
  virtual void move_step_end(Nanoseconds end) = 0;

  /// Ends the step in progress: tokens appear, finished requests leave the table. Returns the
  /// finished requests; valid until the next call.
  virtual std::span<const RequestId> finish_step() = 0;

  /// When to try again if no step could start and nothing new arrives; nullopt: never. Set while K
  /// and V are being loaded from host memory.
  virtual std::optional<Nanoseconds> next_wake() const = 0;

  /// Call when the replica fails, with or without a step in progress: all its requests leave it and
  /// the table. Returns them, running ones first, in order of admission.
  virtual std::vector<RequestId> evacuate() = 0;

  virtual EngineLoad load() const = 0;

  /// Number of the request's prompt tokens that this replica has cached.
  virtual std::int64_t cached_tokens(RequestId id) const = 0;

  virtual const EngineCounters& counters() const = 0;
};

/// Plain: the step-by-step reference. Fast: keeps decode batches in aggregate. Same results.
enum class EngineKind { fast, plain };

/// When the gaps between a request's tokens enter the log: as they occur, or when the request has
/// finished, so that the gaps of requests lost with the replica do not count. The latter looks at
/// every request in every step and therefore uses the plain engine.
enum class GapCounting { at_once, when_finished };

/// `table` and `gaps` must outlive the engine. Throws Error if the engine's scheduler is not
/// simulated.
std::unique_ptr<ReplicaEngine> make_replica_engine(EngineKind kind, const Replica& replica,
                                                   RequestTable& table, TokenGaps& gaps,
                                                   GapCounting counting = GapCounting::at_once);

/// The counters as shares of `block_time`: usable blocks times nanoseconds.
void set_mean_kv_use(EngineUse& use, const EngineCounters& counters, double block_time);

/// The counters as shares and averages over `makespan`; request peaks are left at 0.
EngineUse engine_use(const EngineCounters& counters, std::int64_t usable_blocks,
                     Nanoseconds makespan);

}  // namespace roofcast

// The replicas of a cluster and the routing of requests among them. Tracks time only for changes of
// state and levels; the caller handles the events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "simulator/cluster/cluster.hpp"
#include "simulator/cluster/cluster_admission.hpp"
#include "simulator/cluster/level.hpp"
#include "simulator/cluster/prompt_balance.hpp"
#include "simulator/engine/replica_engine.hpp"
#include "simulator/results/level_timeline.hpp"

namespace roofcast {

enum class ReplicaState {
  off,
  starting,  // paid for, takes no requests yet
  serving,
  draining  // takes no new requests, and leaves when its current ones are done
};

/// State of engines that step together: all ranks of a replica in lockstep, or a single rank.
enum class GroupState : std::uint8_t { idle, due, stepping };

/// A data-parallel rank with its own engine.
struct Rank {
  std::unique_ptr<ReplicaEngine> engine;
  std::optional<Nanoseconds> step_end{};  // of its step in progress, before waiting for other
                                          // ranks
  EngineCounters before{};                // counters of engines that this one replaced
  std::int64_t running = 0;               // in the step in progress
  std::int64_t waiting = 0;               // in the engine's queue
};

/// Request counts at one time, of one replica or of all.
struct RequestLevels {
  Level running{};  // in steps in progress
  Level waiting{};  // in queues
};

struct ClusterReplica {
  ClusterReplica(std::int32_t of_pool, std::int32_t index_in_pool, Router router)
      : pool(of_pool), index(index_in_pool), rank_router(std::move(router)) {}

  std::int32_t pool = 0;
  std::int32_t index = 0;  // within its pool
  ReplicaState state = ReplicaState::off;
  std::int32_t incarnation = 0;  // increases when the replica fails, which invalidates everything
                                 // sent to it
  std::vector<Rank> ranks{};
  std::vector<ReplicaLoad> rank_loads{};
  Router rank_router;
  std::vector<GroupState> groups{};
  std::int64_t steps = 0;                  // of ranks in lockstep, since all were idle
  std::optional<PromptBalance> balance{};  // of ranks whose prompts start together
  std::int64_t sending = 0;  // prompts whose K and V are being sent to a decode replica
  bool retries = true;       // whether its last failure resends its requests
  LinkUse link{};            // its link for KV transfers
  std::int64_t served = 0;   // requests that finished here, or whose prompts were computed here
  RequestLevels levels{};
  EngineLoad recorded{};       // its blocks in the fleet's timeline
  Nanoseconds paid_since = 0;  // unless the replica is off
  Nanoseconds paid = 0;        // before paid_since
};

/// Destination of a request, valid while that replica lives.
struct Place {
  std::int32_t replica = 0;
  std::int32_t rank = 0;
  std::int32_t incarnation = 0;
};

/// First or second phase of a request.
enum class Phase { prompt, decode };

class Fleet {
 public:
  /// Creates all replicas that the pools start with, serving. The arguments must outlive the fleet.
  Fleet(const Cluster& cluster, EngineKind kind, RequestTable& table, TokenGaps& gaps);

  const Cluster& cluster() const { return cluster_; }
  const Pool& pool_of(std::int32_t replica) const {
    return cluster_.pools[static_cast<std::size_t>((*this)[replica].pool)];
  }
  ClusterReplica& operator[](std::int32_t i) { return replicas_[static_cast<std::size_t>(i)]; }
  const ClusterReplica& operator[](std::int32_t i) const {
    return replicas_[static_cast<std::size_t>(i)];
  }
  std::span<const ClusterReplica> replicas() const { return replicas_; }
  const ReplicaLoad& load(std::int32_t replica) const {
    return loads_[static_cast<std::size_t>(replica)];
  }
  ReplicaEngine& engine(const Place& place) {
    return *(*this)[place.replica].ranks[static_cast<std::size_t>(place.rank)].engine;
  }
  bool lives(const Place& place) const {
    return (*this)[place.replica].incarnation == place.incarnation;
  }

  /// Routes the request; nullopt if no replica serves. From then on it counts as outstanding at the
  /// place returned.
  std::optional<Place> choose(Phase phase, RequestId id, const Refusals& refused);
  /// These requests no longer count as outstanding there.
  void release(const Place& place, std::int64_t requests = 1);
  /// Call when schedulers of the replica took or dropped requests, or steps started or ended.
  void refresh(std::int32_t replica, Nanoseconds now);
  /// `more` requests join the router's queue (negative: leave it, after waiting `waited` in total).
  void wait_at_router(Nanoseconds now, std::int64_t more, Nanoseconds waited);
  const RequestLevels& levels() const { return levels_; }
  /// Records every change of levels in `timeline` from now on; it must outlive the fleet. Null:
  /// off.
  void record_in(LevelTimeline* timeline) { timeline_ = timeline; }
  /// Nanoseconds times requests, like EngineCounters::waiting_time.
  double router_waiting_time() const { return router_waiting_time_; }

  /// Starts a replica of the pool that was off, or a new one; returns it.
  std::int32_t order(std::int32_t pool, Nanoseconds now);
  /// A starting replica begins to serve, with empty engines.
  void open(std::int32_t replica, Nanoseconds now);
  /// A serving replica stops taking requests.
  void drain(std::int32_t replica);
  /// Turns a replica off, whatever its state.
  void stop(std::int32_t replica, Nanoseconds now);
  /// A replica that is not off fails; returns the requests that were in its engines. Afterwards it
  /// is off, or starting if it will come back.
  std::vector<RequestId> fail(std::int32_t replica, Nanoseconds now, const Failure& failure);

  std::optional<std::int32_t> find(std::int32_t pool, std::int32_t index) const;
  /// All replicas of the pool in that state, in order.
  std::vector<std::int32_t> in_state(std::int32_t pool, ReplicaState state) const;

 private:
  std::int32_t add(std::int32_t pool);
  void start_engines(std::int32_t replica, Nanoseconds now);
  GapCounting gap_counting(const ClusterReplica& replica, Nanoseconds now) const;
  void update_candidates();
  Router& router_for(Phase phase, std::span<const std::int32_t> candidates, bool routed);
  std::int32_t choose_rank(ClusterReplica& replica, RequestId id);
  RoutedPrompt prompt_of(RequestId id) const;
  void record_levels(Nanoseconds now);

  const Cluster& cluster_;
  EngineKind kind_;
  RequestTable& table_;
  TokenGaps& gaps_;
  Router router_;
  Router decode_router_;
  std::vector<Router> pool_routers_;  // by pool, for requests that only that pool takes
  std::vector<ClusterReplica> replicas_;
  std::vector<ReplicaLoad> loads_;           // by replica
  std::vector<std::int32_t> sizes_;          // by pool: replicas that have ever existed
  std::vector<std::int32_t> takes_prompts_;  // serving replicas, in order
  std::vector<std::int32_t> takes_decodes_;
  std::vector<std::int32_t> candidates_;  // for one request that some pools refuse
  RequestLevels levels_{};                // over all replicas and the router
  double router_waiting_time_ = 0;
  LevelTimeline* timeline_ = nullptr;
  EngineLoad recorded_{};  // blocks of all engines, for the timeline
};

/// Adds counters; peak blocks become the larger of the two.
void add_counters(EngineCounters& sum, const EngineCounters& more);

}  // namespace roofcast

// The replicas of a cluster and where requests go among them. It knows no time but that of coming
// and going; the events are the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "simulator/cluster/cluster.hpp"
#include "simulator/cluster/cluster_admission.hpp"
#include "simulator/cluster/level.hpp"
#include "simulator/engine/replica_engine.hpp"
#include "simulator/results/level_timeline.hpp"

namespace roofcast {

enum class ReplicaState {
  off,
  starting,  // paid for, takes no requests yet
  serving,
  draining  // takes no new requests, and goes when those it has are done
};

/// Engines that step together: all ranks of a replica in lockstep, else each for itself.
enum class GroupState : std::uint8_t { idle, due, stepping };

/// A data-parallel rank: an engine of its own.
struct Rank {
  std::unique_ptr<ReplicaEngine> engine;
  std::optional<Nanoseconds> step_end{};  // of its step in progress, waiting for others apart
  EngineCounters before{};                // of engines that this one replaced
  std::int64_t running = 0;               // in the step in progress
  std::int64_t waiting = 0;               // in the engine's queue
};

/// Requests at one time, of one replica or of all.
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
  std::int32_t incarnation = 0;  // grows when the replica is lost, with all that was meant for it
  std::vector<Rank> ranks{};
  std::vector<ReplicaLoad> rank_loads{};
  Router rank_router;
  std::vector<GroupState> groups{};
  std::int64_t sending = 0;  // prompts whose K and V are on their way to a decode replica
  bool retries = true;       // what its last failure did to its requests
  LinkUse link{};            // its link for K and V
  std::int64_t served = 0;   // requests that finished here, or whose prompts were computed
  RequestLevels levels{};
  EngineLoad recorded{};       // its part of what the fleet's timeline holds; blocks alone
  Nanoseconds paid_since = 0;  // unless off
  Nanoseconds paid = 0;        // before that
};

/// Where a request goes, while that replica lives.
struct Place {
  std::int32_t replica = 0;
  std::int32_t rank = 0;
  std::int32_t incarnation = 0;
};

/// The first or the second part of a request's life.
enum class Phase { prompt, decode };

class Fleet {
 public:
  /// All replicas that the pools start with, serving. What is passed outlives the fleet.
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

  /// Who takes the request, by the routers; nothing when nobody serves. It counts as outstanding
  /// there from now on.
  std::optional<Place> choose(Phase phase, RequestId id, const Refusals& refused);
  /// It does no longer.
  void release(const Place& place, std::int64_t requests = 1);
  /// Schedulers of the replica have taken or dropped requests, or steps started or ended.
  void refresh(std::int32_t replica, Nanoseconds now);
  /// So many more requests wait at the router, or fewer; they have waited for `waited` in all.
  void wait_at_router(Nanoseconds now, std::int64_t more, Nanoseconds waited);
  const RequestLevels& levels() const { return levels_; }
  /// From now on every change of the levels goes there, which outlives the fleet; null: nowhere.
  void record_in(LevelTimeline* timeline) { timeline_ = timeline; }
  /// Nanoseconds times requests, as EngineCounters::waiting_time.
  double router_waiting_time() const { return router_waiting_time_; }

  /// A replica of the pool that was off, or a new one, is starting.
  std::int32_t order(std::int32_t pool, Nanoseconds now);
  /// A starting replica serves, with empty engines.
  void open(std::int32_t replica, Nanoseconds now);
  /// A serving replica takes no more requests.
  void drain(std::int32_t replica);
  /// Any replica is off.
  void stop(std::int32_t replica, Nanoseconds now);
  /// Any replica but one that is off is lost; returns the requests that were in its engines. It is
  /// off afterwards, or starting when it will be back.
  std::vector<RequestId> fail(std::int32_t replica, Nanoseconds now, const Failure& failure);

  std::optional<std::int32_t> find(std::int32_t pool, std::int32_t index) const;
  /// All of the pool in a state, in order.
  std::vector<std::int32_t> in_state(std::int32_t pool, ReplicaState state) const;

 private:
  std::int32_t add(std::int32_t pool);
  void start_engines(std::int32_t replica, Nanoseconds now);
  GapCounting gap_counting(const ClusterReplica& replica, Nanoseconds now) const;
  void update_candidates();
  std::int32_t choose_rank(ClusterReplica& replica, RequestId id);
  RoutedPrompt prompt_of(RequestId id) const;
  void record_levels(Nanoseconds now);

  const Cluster& cluster_;
  EngineKind kind_;
  RequestTable& table_;
  TokenGaps& gaps_;
  Router router_;
  Router decode_router_;
  std::vector<ClusterReplica> replicas_;
  std::vector<ReplicaLoad> loads_;           // by replica
  std::vector<std::int32_t> sizes_;          // by pool: replicas there have ever been
  std::vector<std::int32_t> takes_prompts_;  // serving replicas, in order
  std::vector<std::int32_t> takes_decodes_;
  std::vector<std::int32_t> candidates_;  // of one request that some pools refuse
  RequestLevels levels_{};                // of all, those at the router included
  double router_waiting_time_ = 0;
  LevelTimeline* timeline_ = nullptr;
  EngineLoad recorded_{};  // blocks of all engines, for the timeline
};

/// Adds up: sums, and the larger of the peak blocks.
void add_counters(EngineCounters& sum, const EngineCounters& more);

}  // namespace roofcast

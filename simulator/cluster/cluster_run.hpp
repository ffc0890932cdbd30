// Runs a cluster: client, replicas, links, failures and scaling in one event queue.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "simulator/cluster/autoscaler.hpp"
#include "simulator/cluster/client.hpp"
#include "simulator/cluster/event_queue.hpp"
#include "simulator/cluster/fleet.hpp"
#include "simulator/cluster/front_end.hpp"

namespace roofcast {

/// Simultaneous events are processed in this order: steps end, K and V arrive, replicas come and
/// go, the client sends, requests reach engines. Steps are decided last, so that they see all of
/// it.
class ClusterRun {
 public:
  /// All arguments must outlive the run.
  ClusterRun(Fleet& fleet, Client& client, RequestTable& table, const Refusals& refused);

  /// Runs until all `to_serve` requests are finished, lost or rejected, nothing more can happen, or
  /// `progress` stops it. Returns the time at which it ended.
  Nanoseconds run(std::int64_t to_serve, const Progress& progress);

  /// Failures so far that hit a replica which was not off.
  std::int64_t failures_hit() const { return failures_hit_; }

 private:
  enum class Kind : std::uint8_t {
    step_end,    // of group `part` of `place.replica`
    received,    // K and V of `request` are at `place`, from `source`
    failure,     // `part` of Cluster::failures
    opening,     // of `place.replica`
    evaluation,  // of pool `part`
    delivery,    // of `request` to `place`
    wake         // of group `part` of `place.replica`
  };
  struct Event {
    Kind kind = Kind::step_end;
    std::int32_t part = 0;
    Place place{};
    Place source{};
    RequestId request = kNoRequest;
  };
  /// Engines that step together: all ranks of a replica in lockstep, or a single rank.
  struct Group {
    std::int32_t replica = 0;
    std::int32_t part = 0;
  };

  void push(Nanoseconds time, const Event& event);
  std::optional<Nanoseconds> next_time() const;
  bool turn_of_client() const;
  bool nothing_more() const;
  bool give_up_waiting();
  void handle(const Event& event);

  void send_next();
  void route(RequestId id);
  void wait_for_replica(RequestId id);
  void enter_engine(RequestId id, const Place& place);
  void deliver(const Event& event);

  Group group_of(const Place& place) const;
  std::span<Rank> ranks_of(const Group& group);
  GroupState& state_of(const Group& group);
  void mark_due(const Group& group);
  void start_steps();
  void start_step(const Group& group);
  void start_balanced(ClusterReplica& replica);
  void balance_prompts(ClusterReplica& replica);
  void end_step(const Event& event);
  void end_of(RequestId id, const Place& place);
  void leave_if_drained(std::int32_t replica);

  void send_cache(RequestId id, const Place& source);
  void start_transfer(RequestId id, const Place& source, const Place& target);
  void receive(const Event& event);

  void fail(const Failure& failure);
  std::vector<RequestId> empty_front_end(std::int32_t replica);
  FrontEnd& front_end_of(std::int32_t replica);
  void failed(RequestId id, std::int32_t replica);
  void lose(RequestId id);
  void open(const Event& event);
  void route_waiting();

  void evaluate(std::int32_t pool);
  std::int32_t replicas_of(std::int32_t pool) const;
  double metric_of(std::int32_t pool) const;
  void resize(std::int32_t pool, std::int32_t more);

  Fleet& fleet_;
  Client& client_;
  RequestTable& table_;
  const Refusals& refused_;
  const Cluster& cluster_;
  EventQueue<Event> queue_;
  Nanoseconds now_ = 0;
  std::int64_t unanswered_ = 0;
  std::int64_t finished_ = 0;
  std::int64_t work_ = 0;             // events and steps so far
  std::vector<FrontEnd> front_ends_;  // by replica
  std::vector<Group> to_start_;       // groups that may be able to run
  std::vector<StepOffer> offers_;     // of the ranks that decide a step
  struct Unrouted {
    RequestId request = kNoRequest;
    Nanoseconds since = 0;
  };
  std::vector<Unrouted> unrouted_;  // at the router, because no replica serves
  struct Unsent {
    RequestId request = kNoRequest;
    Place source{};
    Nanoseconds since = 0;
  };
  std::vector<Unsent> unsent_;           // computed prompts, while no decode replica serves
  std::vector<Autoscaler> autoscalers_;  // by pool; unused for pools that do not scale
  std::size_t evaluations_ = 0;          // in the queue
  std::int64_t failures_hit_ = 0;
  LinkUse shared_link_{};
};

}  // namespace roofcast

// Changes in the number of replicas: failures, recoveries and autoscaling.
#include <algorithm>

#include "simulator/cluster/cluster_run.hpp"

namespace roofcast {

void ClusterRun::fail(const Failure& failure) {
  const auto found = fleet_.find(failure.pool, failure.replica);
  if (!found || fleet_[*found].state == ReplicaState::off) return;
  ++failures_hit_;
  const std::vector<RequestId> inside = fleet_.fail(*found, now_, failure);
  for (GroupState& group : fleet_[*found].groups) group = GroupState::idle;
  if (failure.back_after) {
    const Place place{.replica = *found, .incarnation = fleet_[*found].incarnation};
    push(now_ + *failure.back_after, {.kind = Kind::opening, .place = place});
  }
  const std::vector<RequestId> undelivered = empty_front_end(*found);
  for (const RequestId id : inside) failed(id, *found);
  for (const RequestId id : undelivered) failed(id, *found);
}

/// Returns the requests that a failed replica's front end had, which starts afresh.
std::vector<RequestId> ClusterRun::empty_front_end(std::int32_t replica) {
  std::vector<RequestId> undelivered;
  const auto is_there = [replica](const Event& event) {
    return event.kind == Kind::delivery && event.place.replica == replica;
  };
  for (const Event& event : queue_.take_if(is_there)) undelivered.push_back(event.request);
  front_end_of(replica) = FrontEnd(fleet_.pool_of(replica));
  return undelivered;
}

/// Handles a request that was in a failed replica, or on its way to or from it. If resent, it
/// starts over, and the lost time counts as waiting: its client counts time since it was first
/// sent, and its queueing time since it was first queued.
void ClusterRun::failed(RequestId id, std::int32_t replica) {
  RequestRecord& record = table_.record(id);
  if (fleet_[replica].retries) {
    if (record.queued == kNever) {
      record.tokenizer_wait = std::min(record.tokenizer_wait, now_ - record.sent);
      record.queued = now_;
    }
    record.scheduled = record.first_token = kNever;
    record.retried = true;
    record.largest_gap = 0;
    record.cached_tokens = 0;
    route(id);
    return;
  }
  lose(id);
}

void ClusterRun::lose(RequestId id) {
  table_.record(id).lost = true;
  unanswered_ -= 1 + client_.lost(id, now_);
}

void ClusterRun::open(const Event& event) {
  if (!fleet_.lives(event.place)) return;
  fleet_.open(event.place.replica, now_);
  route_waiting();
}

void ClusterRun::evaluate(std::int32_t pool) {
  --evaluations_;
  Autoscaler& autoscaler = autoscalers_[static_cast<std::size_t>(pool)];
  const std::int32_t replicas = replicas_of(pool);
  resize(pool, autoscaler.wanted(now_, replicas, metric_of(pool)) - replicas);
  push(now_ + autoscaler.settings().interval, {.kind = Kind::evaluation, .part = pool});
}

/// Serving and starting replicas of the pool.
std::int32_t ClusterRun::replicas_of(std::int32_t pool) const {
  return static_cast<std::int32_t>(fleet_.in_state(pool, ReplicaState::serving).size() +
                                   fleet_.in_state(pool, ReplicaState::starting).size());
}

/// Sum over the serving replicas; unrouted requests count as waiting.
double ClusterRun::metric_of(std::int32_t pool) const {
  const Pool& scaled = cluster_.pools[static_cast<std::size_t>(pool)];
  const std::vector<std::int32_t> serving = fleet_.in_state(pool, ReplicaState::serving);
  const double places = static_cast<double>(scaled.replica.engine.max_num_seqs) * scaled.ranks;
  double sum = 0;
  for (const std::int32_t replica : serving) {
    const ReplicaLoad& load = fleet_.load(replica);
    sum += scaled.autoscaling->metric == Autoscaling::Metric::queue
               ? static_cast<double>(load.waiting())
               : std::max(load.kv_use, static_cast<double>(load.running) / places);
  }
  if (scaled.autoscaling->metric != Autoscaling::Metric::queue) return sum;
  const auto unserved = scaled.role == PoolRole::decode ? unsent_.size() : unrouted_.size();
  return sum + static_cast<double>(unserved);
}

/// Adds `more` replicas, or removes the newest if negative: starting ones at once, serving ones
/// when empty.
void ClusterRun::resize(std::int32_t pool, std::int32_t more) {
  for (; more > 0; --more) {
    const std::int32_t replica = fleet_.order(pool, now_);
    const Place place{.replica = replica, .incarnation = fleet_[replica].incarnation};
    push(now_ + autoscalers_[static_cast<std::size_t>(pool)].settings().start_up,
         {.kind = Kind::opening, .place = place});
  }
  std::vector<std::int32_t> leaving = fleet_.in_state(pool, ReplicaState::serving);
  const std::vector<std::int32_t> starting = fleet_.in_state(pool, ReplicaState::starting);
  leaving.insert(leaving.end(), starting.begin(), starting.end());
  for (; more < 0; ++more) {
    const std::int32_t replica = leaving.back();
    leaving.pop_back();
    if (fleet_[replica].state == ReplicaState::starting) {
      fleet_.stop(replica, now_);
    } else {
      fleet_.drain(replica);
      leave_if_drained(replica);
    }
  }
}

}  // namespace roofcast

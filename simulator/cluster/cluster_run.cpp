#include "simulator/cluster/cluster_run.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "simulator/workload/limits.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kWorkBetweenReports = 16;  // one unit may take half a second

// Order of simultaneous events: as the kinds are listed, with the client after evaluations.
constexpr std::uint8_t kClientPhase = 5;
constexpr std::uint8_t kDeliveryPhase = 6;

// Time is a 64-bit count of nanoseconds, 292 years; this limit keeps sums from overflowing.
constexpr Nanoseconds kLongestRun = 10 * kLongestSpan;

[[noreturn]] void refuse_endless() {
  throw Error(
      "the run exceeds a hundred simulated years: expected shorter steps, pauses or outputs");
}

}  // namespace

ClusterRun::ClusterRun(Fleet& fleet, Client& client, RequestTable& table, const Refusals& refused)
    : fleet_(fleet), client_(client), table_(table), refused_(refused), cluster_(fleet.cluster()) {
  for (const Pool& pool : cluster_.pools) {
    autoscalers_.emplace_back(pool.autoscaling.value_or(Autoscaling{}));
  }
  for (std::size_t i = 0; i < cluster_.failures.size(); ++i) {
    push(cluster_.failures[i].time, {.kind = Kind::failure, .part = static_cast<std::int32_t>(i)});
  }
  for (std::size_t i = 0; i < cluster_.pools.size(); ++i) {
    if (!cluster_.pools[i].autoscaling) continue;
    push(cluster_.pools[i].autoscaling->interval,
         {.kind = Kind::evaluation, .part = static_cast<std::int32_t>(i)});
  }
}

void ClusterRun::push(Nanoseconds time, const Event& event) {
  auto phase = static_cast<std::uint8_t>(event.kind);
  if (event.kind >= Kind::delivery) phase = kDeliveryPhase;
  if (event.kind == Kind::evaluation) ++evaluations_;
  queue_.push(time, phase, event);
}

Nanoseconds ClusterRun::run(std::int64_t to_serve, const Progress& progress) {
  unanswered_ = to_serve;
  std::int64_t reported = 0;
  while (unanswered_ > 0 || client_.next_send()) {
    const auto next = next_time();
    if (!to_start_.empty() && (!next || *next > now_)) {
      start_steps();
      continue;
    }
    if (!next || nothing_more()) {
      if (!give_up_waiting()) break;
      continue;
    }
    now_ = std::max(now_, *next);
    if (now_ > kLongestRun) refuse_endless();
    ++work_;
    if (turn_of_client()) {
      send_next();
    } else {
      handle(queue_.pop());
    }
    if (work_ - reported < kWorkBetweenReports) continue;
    reported = work_;
    if (progress && !progress(finished_, to_serve)) break;
  }
  return now_;
}

std::optional<Nanoseconds> ClusterRun::next_time() const {
  const auto sends = client_.next_send();
  if (queue_.empty()) return sends;
  return sends ? std::min(*sends, queue_.next_time()) : queue_.next_time();
}

bool ClusterRun::turn_of_client() const {
  const auto sends = client_.next_send();
  if (!sends) return false;
  if (queue_.empty()) return true;
  // A request released by a freed slot was created in the past.
  const Nanoseconds time = std::max(*sends, now_);
  if (time != queue_.next_time()) return time < queue_.next_time();
  return queue_.next_phase() > kClientPhase;
}

/// Whether only evaluations are left, none of which will start a replica for the waiting requests.
bool ClusterRun::nothing_more() const {
  if (!to_start_.empty() || client_.next_send() || queue_.size() > evaluations_) return false;
  if (unrouted_.empty() && unsent_.empty()) return true;
  for (std::size_t i = 0; i < cluster_.pools.size(); ++i) {
    if (cluster_.pools[i].autoscaling && replicas_of(static_cast<std::int32_t>(i)) == 0) {
      return false;
    }
  }
  return true;
}

/// Loses the requests that wait for a replica, as none will serve them. False if there are none.
bool ClusterRun::give_up_waiting() {
  std::vector<RequestId> waiting;
  for (const Unrouted& request : unrouted_) waiting.push_back(request.request);
  for (const Unsent& prompt : unsent_) waiting.push_back(prompt.request);
  unrouted_.clear();
  unsent_.clear();
  fleet_.wait_at_router(now_, -std::ssize(waiting), 0);
  for (const RequestId id : waiting) lose(id);
  return !waiting.empty();
}

void ClusterRun::handle(const Event& event) {
  switch (event.kind) {
    case Kind::step_end:
      return end_step(event);
    case Kind::received:
      return receive(event);
    case Kind::failure:
      return fail(cluster_.failures[static_cast<std::size_t>(event.part)]);
    case Kind::opening:
      return open(event);
    case Kind::evaluation:
      return evaluate(event.part);
    case Kind::delivery:
      return deliver(event);
    case Kind::wake:
      break;
  }
  if (fleet_.lives(event.place)) mark_due({event.place.replica, event.part});
}

// ---- requests on their way

void ClusterRun::send_next() {
  if (const auto id = client_.send(now_)) route(*id);
}

void ClusterRun::route(RequestId id) {
  const auto place = fleet_.choose(Phase::prompt, id, refused_);
  if (!place) return wait_for_replica(id);
  RequestRecord& record = table_.record(id);
  const FrontEnd::Delivery delivery = front_end_of(place->replica).delivery(now_, record.request);
  record.replica = place->replica;
  // That of an attempt which is sent again counts as its queueing.
  if (record.queued == kNever) record.tokenizer_wait = delivery.waited;
  push(delivery.time, {.kind = Kind::delivery, .place = *place, .request = id});
}

/// Replicas come while the cluster runs; those before it that had no request yet get theirs, too.
FrontEnd& ClusterRun::front_end_of(std::int32_t replica) {
  for (auto i = static_cast<std::int32_t>(front_ends_.size()); i <= replica; ++i) {
    front_ends_.emplace_back(cluster_.pools[static_cast<std::size_t>(fleet_[i].pool)]);
  }
  return front_ends_[static_cast<std::size_t>(replica)];
}

/// The request's queueing time starts here unless it has been in a queue before.
void ClusterRun::wait_for_replica(RequestId id) {
  RequestRecord& record = table_.record(id);
  if (record.queued == kNever) record.queued = now_;
  unrouted_.push_back({id, now_});
  fleet_.wait_at_router(now_, 1, 0);
}

void ClusterRun::deliver(const Event& event) {
  assert(fleet_.lives(event.place));  // fail() takes the deliveries to a replica
  const RequestId id = event.request;
  RequestRecord& record = table_.record(id);
  if (record.queued == kNever) record.queued = now_;
  RequestState& state = table_.enter(id);
  if (fleet_.pool_of(event.place.replica).role == PoolRole::prefill) {
    state.output_tokens = state.max_tokens = 1;
  }
  enter_engine(id, event.place);
}

/// A request with a state joins the engine's queue for the first time.
void ClusterRun::enter_engine(RequestId id, const Place& place) {
  table_[id].waiting_since = now_;
  fleet_.engine(place).enqueue(id);
  fleet_.refresh(place.replica, now_);
  mark_due(group_of(place));
}

/// Routes the requests that arrived while no replica served.
void ClusterRun::route_waiting() {
  std::vector<Unrouted> requests;
  std::swap(requests, unrouted_);
  for (const Unrouted& waiting : requests) {
    fleet_.wait_at_router(now_, -1, now_ - waiting.since);
    route(waiting.request);
  }
  std::vector<Unsent> prompts;
  std::swap(prompts, unsent_);
  for (const Unsent& waiting : prompts) {
    fleet_.wait_at_router(now_, -1, now_ - waiting.since);
    send_cache(waiting.request, waiting.source);
  }
}

// ---- steps

ClusterRun::Group ClusterRun::group_of(const Place& place) const {
  return {place.replica, fleet_.pool_of(place.replica).lockstep ? 0 : place.rank};
}

std::span<Rank> ClusterRun::ranks_of(const Group& group) {
  const std::span<Rank> all = fleet_[group.replica].ranks;
  if (fleet_.pool_of(group.replica).lockstep) return all;
  return all.subspan(static_cast<std::size_t>(group.part), 1);
}

GroupState& ClusterRun::state_of(const Group& group) {
  return fleet_[group.replica].groups[static_cast<std::size_t>(group.part)];
}

void ClusterRun::mark_due(const Group& group) {
  GroupState& state = state_of(group);
  if (state != GroupState::idle) return;
  state = GroupState::due;
  to_start_.push_back(group);
}

void ClusterRun::start_steps() {
  for (const Group& group : to_start_) {
    // The replica may have failed meanwhile, or have come back with new groups.
    if (state_of(group) == GroupState::due) start_step(group);
  }
  to_start_.clear();
}

void ClusterRun::start_step(const Group& group) {
  ClusterReplica& replica = fleet_[group.replica];
  const std::span<Rank> ranks = ranks_of(group);
  // The next event is known if no other group is about to start.
  const bool alone = to_start_.size() == 1 && ranks.size() == 1;
  const Nanoseconds horizon = next_time().value_or(std::numeric_limits<Nanoseconds>::max());
  std::optional<Nanoseconds> end, wake;
  const bool together = fleet_.pool_of(group.replica).lockstep && ranks.size() > 1;
  if (replica.balance) start_balanced(replica);
  for (Rank& rank : ranks) {
    if (together) rank.engine->number_step(replica.steps);
    const std::int64_t steps_before = rank.engine->counters().steps;
    if (replica.balance) {
      ++work_;
    } else if (alone) {
      rank.step_end = rank.engine->start_steps(now_, horizon);
    } else {
      rank.step_end = rank.engine->start_step(now_);
    }
    work_ += rank.engine->counters().steps - steps_before;
    if (rank.step_end) {
      end = std::max(end.value_or(now_), *rank.step_end);
    } else if (const auto again = rank.engine->next_wake()) {
      wake = std::min(wake.value_or(*again), *again);
    }
  }
  for (Rank& rank : ranks) {
    if (rank.step_end && *rank.step_end < *end) rank.engine->move_step_end(*end);
  }
  fleet_.refresh(group.replica, now_);
  const Place place{.replica = group.replica, .incarnation = replica.incarnation};
  if (together) replica.steps = end ? replica.steps + 1 : 0;
  if (end) {
    state_of(group) = GroupState::stepping;
    push(*end, {.kind = Kind::step_end, .part = group.part, .place = place});
    return;
  }
  state_of(group) = GroupState::idle;
  if (wake) push(*wake, {.kind = Kind::wake, .part = group.part, .place = place});
}

/// Starts a step of ranks whose prompts start together. A rank that had nothing to run when the
/// others decided this step joins them in the next, which all decide now.
void ClusterRun::start_balanced(ClusterReplica& replica) {
  const auto has_decided = [](const Rank& rank) { return rank.engine->has_decided(); };
  const bool decided = std::ranges::any_of(replica.ranks, has_decided);
  if (!decided) balance_prompts(replica);
  for (Rank& rank : replica.ranks) {
    if (!decided || has_decided(rank)) rank.step_end = rank.engine->begin_step(now_);
  }
  if (!decides_ahead(cluster_.pools[static_cast<std::size_t>(replica.pool)].replica.engine)) return;
  balance_prompts(replica);
  for (Rank& rank : replica.ranks) rank.engine->decide_step(now_);
}

/// Lets the ranks choose what may run in the step that they decide next, and holds their prompts
/// back unless they may start.
void ClusterRun::balance_prompts(ClusterReplica& replica) {
  offers_.clear();
  for (Rank& rank : replica.ranks) offers_.push_back(rank.engine->offer_step(now_));
  const bool hold = replica.balance->holds(offers_);
  for (Rank& rank : replica.ranks) rank.engine->hold_prompts(hold);
}

void ClusterRun::end_step(const Event& event) {
  if (!fleet_.lives(event.place)) return;
  const Group group{event.place.replica, event.part};
  Place place = event.place;
  place.rank = group.part;
  for (Rank& rank : ranks_of(group)) {
    if (rank.step_end) {
      rank.step_end.reset();
      const auto finished = rank.engine->finish_step();
      fleet_.release(place, std::ssize(finished));
      for (const RequestId id : finished) end_of(id, place);
    }
    ++place.rank;
  }
  fleet_.refresh(group.replica, now_);
  state_of(group) = GroupState::idle;
  mark_due(group);
  leave_if_drained(group.replica);
}

/// The request has left an engine after its last token there.
void ClusterRun::end_of(RequestId id, const Place& place) {
  RequestRecord& record = table_.record(id);
  ++fleet_[place.replica].served;
  const bool prompt_only = fleet_.pool_of(place.replica).role == PoolRole::prefill;
  if (prompt_only && record.request.output_tokens > 1) {
    // The first token reaches the client through the decode replica (cluster_transfers.cpp).
    record.finished = record.first_token = kNever;
    ++fleet_[place.replica].sending;
    send_cache(id, place);
    return;
  }
  client_.finished(id, now_);
  --unanswered_;
  ++finished_;
}

void ClusterRun::leave_if_drained(std::int32_t replica) {
  const ClusterReplica& leaving = fleet_[replica];
  if (leaving.state != ReplicaState::draining) return;
  if (fleet_.load(replica).outstanding > 0 || leaving.sending > 0) return;
  fleet_.stop(replica, now_);
}

}  // namespace roofcast

#include "simulator/cluster/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace roofcast {
namespace {

double share(double part, std::int64_t whole) {
  return whole > 0 ? part / static_cast<double>(whole) : 0;
}

double share(std::int64_t part, std::int64_t whole) {
  return share(static_cast<double>(part), whole);
}

}  // namespace

void add_counters(EngineCounters& sum, const EngineCounters& more) {
  static_cast<EngineCounts&>(sum) += more;
  sum.decodes_with_drafts += more.decodes_with_drafts;
  sum.drafted_tokens += more.drafted_tokens;
  sum.accepted_tokens += more.accepted_tokens;
  sum.peak_blocks = std::max(sum.peak_blocks, more.peak_blocks);
  sum.peak_empty = std::max(sum.peak_empty, more.peak_empty);
  sum.busy += more.busy;
  sum.pass_time += more.pass_time;
  sum.block_time += more.block_time;
  sum.empty_time += more.empty_time;
  sum.unused_time += more.unused_time;
  sum.stranded_time += more.stranded_time;
  sum.running_time += more.running_time;
  sum.waiting_time += more.waiting_time;
}

Fleet::Fleet(const Cluster& cluster, EngineKind kind, RequestTable& table, TokenGaps& gaps)
    : cluster_(cluster),
      kind_(kind),
      table_(table),
      gaps_(gaps),
      router_(cluster.router, random_stream(cluster.seed, "router")),
      decode_router_(cluster.decode_router, random_stream(cluster.seed, "decode_router")),
      sizes_(cluster.pools.size(), 0) {
  for (std::int32_t pool = 0; pool < std::ssize(cluster.pools); ++pool) {
    const bool decodes = cluster.pools[static_cast<std::size_t>(pool)].role == PoolRole::decode;
    pool_routers_.emplace_back(decodes ? cluster.decode_router : cluster.router,
                               random_stream(cluster.seed, fmt::format("router/{}", pool)));
    for (std::int32_t i = 0; i < cluster.pools[static_cast<std::size_t>(pool)].replicas; ++i) {
      const std::int32_t replica = add(pool);
      (*this)[replica].state = ReplicaState::starting;
      start_engines(replica, 0);
    }
  }
  update_candidates();
}

/// Adds a replica that is off.
std::int32_t Fleet::add(std::int32_t pool) {
  const auto replica = static_cast<std::int32_t>(replicas_.size());
  const RouterOptions& options = cluster_.pools[static_cast<std::size_t>(pool)].rank_router;
  const auto stream = random_stream(cluster_.seed, fmt::format("rank_router/{}", replica));
  const std::int32_t index = sizes_[static_cast<std::size_t>(pool)]++;
  replicas_.emplace_back(pool, index, Router(options, stream));
  loads_.emplace_back();
  return replica;
}

std::int32_t Fleet::order(std::int32_t pool, Nanoseconds now) {
  const std::vector<std::int32_t> unused = in_state(pool, ReplicaState::off);
  const std::int32_t replica = unused.empty() ? add(pool) : unused.front();
  (*this)[replica].state = ReplicaState::starting;
  (*this)[replica].paid_since = now;
  return replica;
}

void Fleet::open(std::int32_t replica, Nanoseconds now) {
  start_engines(replica, now);
  update_candidates();
}

/// Gaps are held back if the replica will fail later, since those of lost requests must not count.
GapCounting Fleet::gap_counting(const ClusterReplica& replica, Nanoseconds now) const {
  const bool fails =
      std::any_of(cluster_.failures.begin(), cluster_.failures.end(), [&](const Failure& failure) {
        return failure.pool == replica.pool && failure.replica == replica.index &&
               failure.time >= now;
      });
  return fails ? GapCounting::when_finished : GapCounting::at_once;
}

void Fleet::start_engines(std::int32_t replica, Nanoseconds now) {
  ClusterReplica& opened = (*this)[replica];
  assert(opened.state == ReplicaState::starting);
  const Pool& pool = pool_of(replica);
  opened.ranks.resize(static_cast<std::size_t>(pool.ranks));
  const GapCounting counting = gap_counting(opened, now);
  for (Rank& rank : opened.ranks) {
    if (rank.engine) add_counters(rank.before, rank.engine->counters());
    rank.step_end.reset();
    rank.engine = make_replica_engine(kind_, pool.replica, table_, gaps_, counting);
  }
  opened.rank_loads.assign(opened.ranks.size(), {});
  opened.groups.assign(pool.lockstep ? 1 : opened.ranks.size(), GroupState::idle);
  opened.steps = 0;
  opened.balance.reset();
  const Engine& engine = pool.replica.engine;
  if (engine.attention_dp_enable_balance && pool.lockstep && pool.ranks > 1)
    opened.balance.emplace(engine);
  loads_[static_cast<std::size_t>(replica)] = {};
  opened.state = ReplicaState::serving;
  opened.link = {};
}

void Fleet::drain(std::int32_t replica) {
  (*this)[replica].state = ReplicaState::draining;
  update_candidates();
}

void Fleet::stop(std::int32_t replica, Nanoseconds now) {
  ClusterReplica& stopped = (*this)[replica];
  if (stopped.state == ReplicaState::off) return;
  stopped.paid += now - stopped.paid_since;
  stopped.state = ReplicaState::off;
  ++stopped.incarnation;
  update_candidates();
}

std::vector<RequestId> Fleet::fail(std::int32_t replica, Nanoseconds now, const Failure& failure) {
  ClusterReplica& failed = (*this)[replica];
  std::vector<RequestId> all;
  for (Rank& rank : failed.ranks) {
    if (!rank.engine) continue;
    if (rank.step_end) rank.engine->move_step_end(now);
    rank.step_end.reset();
    const std::vector<RequestId> inside = rank.engine->evacuate();
    all.insert(all.end(), inside.begin(), inside.end());
  }
  if (!failed.ranks.empty()) refresh(replica, now);
  failed.retries = failure.retried;
  failed.sending = 0;
  stop(replica, now);
  if (failure.back_after) {
    failed.state = ReplicaState::starting;
    failed.paid_since = now;
  }
  return all;
}

std::optional<std::int32_t> Fleet::find(std::int32_t pool, std::int32_t index) const {
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i].pool == pool && replicas_[i].index == index) {
      return static_cast<std::int32_t>(i);
    }
  }
  return std::nullopt;
}

std::vector<std::int32_t> Fleet::in_state(std::int32_t pool, ReplicaState state) const {
  std::vector<std::int32_t> found;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i].pool == pool && replicas_[i].state == state) {
      found.push_back(static_cast<std::int32_t>(i));
    }
  }
  return found;
}

void Fleet::update_candidates() {
  takes_prompts_.clear();
  takes_decodes_.clear();
  for (std::int32_t i = 0; i < std::ssize(replicas_); ++i) {
    if ((*this)[i].state != ReplicaState::serving) continue;
    const bool decodes = pool_of(i).role == PoolRole::decode;
    (decodes ? takes_decodes_ : takes_prompts_).push_back(i);
  }
}

RoutedPrompt Fleet::prompt_of(RequestId id) const {
  const auto cached = [this, id](std::int32_t replica) {
    std::int64_t max = 0;
    for (const Rank& rank : (*this)[replica].ranks) {
      max = std::max(max, rank.engine->cached_tokens(id));
    }
    return max;
  };
  return {.input_tokens = table_.record(id).request.input_tokens, .cached_tokens = cached};
}

/// Requests that one pool alone takes have a router of their own, so that they take turns among its
/// replicas whatever the others do. Precondition: candidates are in order, not empty.
Router& Fleet::router_for(Phase phase, std::span<const std::int32_t> candidates, bool routed) {
  const std::int32_t pool = (*this)[candidates.front()].pool;
  const auto of_it = [&](std::int32_t i) { return (*this)[i].pool == pool; };
  if (routed && std::ranges::all_of(candidates, of_it)) {
    return pool_routers_[static_cast<std::size_t>(pool)];
  }
  return phase == Phase::prompt ? router_ : decode_router_;
}

std::optional<Place> Fleet::choose(Phase phase, RequestId id, const Refusals& refused) {
  std::span<const std::int32_t> candidates =
      phase == Phase::prompt ? takes_prompts_ : takes_decodes_;
  if (!refused.empty()) {
    candidates_.clear();
    for (const std::int32_t i : candidates) {
      const auto pool = static_cast<std::size_t>((*this)[i].pool);
      if (!refused[pool][static_cast<std::size_t>(id)]) candidates_.push_back(i);
    }
    candidates = candidates_;
  }
  if (candidates.empty()) return std::nullopt;
  const std::int32_t chosen =
      router_for(phase, candidates, !refused.empty()).choose(candidates, loads_, prompt_of(id));
  ClusterReplica& replica = (*this)[chosen];
  const std::int32_t rank = choose_rank(replica, id);
  ++replica.rank_loads[static_cast<std::size_t>(rank)].outstanding;
  ++loads_[static_cast<std::size_t>(chosen)].outstanding;
  return Place{.replica = chosen, .rank = rank, .incarnation = replica.incarnation};
}

std::int32_t Fleet::choose_rank(ClusterReplica& replica, RequestId id) {
  if (replica.ranks.size() == 1) return 0;
  std::vector<std::int32_t> all(replica.ranks.size());
  std::iota(all.begin(), all.end(), 0);
  const RoutedPrompt prompt{
      .input_tokens = table_.record(id).request.input_tokens,
      .cached_tokens = [&replica, id](std::int32_t rank) {
        return replica.ranks[static_cast<std::size_t>(rank)].engine->cached_tokens(id);
      }};
  return replica.rank_router.choose(all, replica.rank_loads, prompt);
}

void Fleet::release(const Place& place, std::int64_t requests) {
  ClusterReplica& replica = (*this)[place.replica];
  replica.rank_loads[static_cast<std::size_t>(place.rank)].outstanding -= requests;
  loads_[static_cast<std::size_t>(place.replica)].outstanding -= requests;
}

void Fleet::wait_at_router(Nanoseconds now, std::int64_t more, Nanoseconds waited) {
  levels_.waiting.add(now, more);
  router_waiting_time_ += static_cast<double>(waited);
  if (timeline_ != nullptr) record_levels(now);
}

void Fleet::refresh(std::int32_t replica, Nanoseconds now) {
  ClusterReplica& of = (*this)[replica];
  ReplicaLoad& load = loads_[static_cast<std::size_t>(replica)];
  load.running = 0;
  std::int64_t used = 0, usable = 0, running = 0, waiting = 0;
  double empty = 0;
  for (std::size_t i = 0; i < of.ranks.size(); ++i) {
    Rank& rank = of.ranks[i];
    const EngineLoad engine = rank.engine->load();
    of.rank_loads[i].running = engine.running;
    of.rank_loads[i].kv_use = share(engine.blocks_used, engine.blocks_usable);
    load.running += engine.running;
    used += engine.blocks_used;
    empty += engine.blocks_empty;
    usable += engine.blocks_usable;
    const std::int64_t in_step = rank.step_end ? rank.engine->counters().running : 0;
    running += in_step - std::exchange(rank.running, in_step);
    waiting += engine.waiting - std::exchange(rank.waiting, engine.waiting);
  }
  load.kv_use = share(used, usable);
  for (RequestLevels* levels : {&of.levels, &levels_}) {
    levels->running.add(now, running);
    levels->waiting.add(now, waiting);
  }
  if (timeline_ == nullptr) return;
  recorded_.blocks_used += used - std::exchange(of.recorded.blocks_used, used);
  recorded_.blocks_empty += empty - std::exchange(of.recorded.blocks_empty, empty);
  recorded_.blocks_usable += usable - std::exchange(of.recorded.blocks_usable, usable);
  record_levels(now);
}

/// Replicas that have not run yet are not part of the blocks.
void Fleet::record_levels(Nanoseconds now) {
  timeline_->record(now, {.running = levels_.running.value(),
                          .waiting = levels_.waiting.value(),
                          .kv_use = share(recorded_.blocks_used, recorded_.blocks_usable),
                          .kv_empty = share(recorded_.blocks_empty, recorded_.blocks_usable)});
}

}  // namespace roofcast

#include "simulator/cluster/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace roofcast {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

void add_counters(EngineCounters& sum, const EngineCounters& more) {
  sum.steps += more.steps;
  sum.prefill_tokens += more.prefill_tokens;
  sum.decode_tokens += more.decode_tokens;
  sum.recomputed_tokens += more.recomputed_tokens;
  sum.preemptions += more.preemptions;
  sum.prefix_queries += more.prefix_queries;
  sum.prefix_hits += more.prefix_hits;
  sum.offload_hits += more.offload_hits;
  sum.decodes_with_drafts += more.decodes_with_drafts;
  sum.drafted_tokens += more.drafted_tokens;
  sum.accepted_tokens += more.accepted_tokens;
  sum.peak_running = std::max(sum.peak_running, more.peak_running);
  sum.peak_waiting = std::max(sum.peak_waiting, more.peak_waiting);
  sum.peak_blocks = std::max(sum.peak_blocks, more.peak_blocks);
  sum.busy += more.busy;
  sum.block_time += more.block_time;
  sum.running_time += more.running_time;
  sum.waiting_time += more.waiting_time;
}

Fleet::Fleet(const Cluster& cluster, EngineKind kind, RequestTable& table, TokenGaps& gaps)
    : cluster_(cluster),
      kind_(kind),
      table_(table),
      gaps_(gaps),
      router_(cluster.router, random_stream(cluster.seed, "router")),
      decode_router_(cluster.decode_router, random_stream(cluster.seed, "decode_router")) {
  for (std::int32_t pool = 0; pool < std::ssize(cluster.pools); ++pool) {
    for (std::int32_t i = 0; i < cluster.pools[static_cast<std::size_t>(pool)].replicas; ++i) {
      open(order(pool, 0));
    }
  }
}

void Fleet::add(std::int32_t pool) {
  const auto index = static_cast<std::int32_t>(
      std::count_if(replicas_.begin(), replicas_.end(),
                    [pool](const ClusterReplica& replica) { return replica.pool == pool; }));
  const RouterOptions& options = cluster_.pools[static_cast<std::size_t>(pool)].rank_router;
  const auto stream = random_stream(cluster_.seed, fmt::format("rank_router/{}", replicas_.size()));
  replicas_.emplace_back(pool, index, Router(options, stream));
  loads_.emplace_back();
}

std::int32_t Fleet::order(std::int32_t pool, Nanoseconds now) {
  const std::vector<std::int32_t> unused = in_state(pool, ReplicaState::off);
  if (unused.empty()) add(pool);
  const auto replica =
      unused.empty() ? static_cast<std::int32_t>(replicas_.size() - 1) : unused.front();
  (*this)[replica].state = ReplicaState::starting;
  (*this)[replica].paid_since = now;
  return replica;
}

void Fleet::open(std::int32_t replica) {
  ClusterReplica& opened = (*this)[replica];
  assert(opened.state == ReplicaState::starting);
  const Pool& pool = pool_of(replica);
  opened.ranks.resize(static_cast<std::size_t>(pool.ranks));
  for (Rank& rank : opened.ranks) {
    if (rank.engine) add_counters(rank.before, rank.engine->counters());
    rank.step_end.reset();
    rank.engine = make_replica_engine(kind_, pool.replica, table_, gaps_);
  }
  opened.rank_loads.assign(opened.ranks.size(), {});
  opened.groups.assign(pool.lockstep ? 1 : opened.ranks.size(), GroupState::idle);
  loads_[static_cast<std::size_t>(replica)] = {};
  opened.state = ReplicaState::serving;
  opened.link_free = 0;
  update_candidates();
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
    std::int64_t most = 0;
    for (const Rank& rank : (*this)[replica].ranks) {
      most = std::max(most, rank.engine->cached_tokens(id));
    }
    return most;
  };
  return {.input_tokens = table_.record(id).request.input_tokens, .cached_tokens = cached};
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
  Router& router = phase == Phase::prompt ? router_ : decode_router_;
  const std::int32_t chosen = router.choose(candidates, loads_, prompt_of(id));
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

void Fleet::refresh(std::int32_t replica) {
  ClusterReplica& of = (*this)[replica];
  ReplicaLoad& load = loads_[static_cast<std::size_t>(replica)];
  load.running = 0;
  std::int64_t used = 0, usable = 0;
  for (std::size_t rank = 0; rank < of.ranks.size(); ++rank) {
    const EngineLoad engine = of.ranks[rank].engine->load();
    of.rank_loads[rank].running = engine.running;
    of.rank_loads[rank].kv_use = share(engine.blocks_used, engine.blocks_usable);
    load.running += engine.running;
    used += engine.blocks_used;
    usable += engine.blocks_usable;
  }
  load.kv_use = share(used, usable);
}

}  // namespace roofcast

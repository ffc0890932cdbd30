#include "simulator/cluster/cluster_use.hpp"

#include <algorithm>

namespace roofcast {
namespace {

/// Sums over engines.
struct Sum {
  EngineCounters counters{};
  double blocks = 0;   // usable, averaged over the time
  double engines = 0;  // averaged over the time
  double peak_kv_use = 0, peak_kv_empty = 0;

  void add(const Rank& rank, double time_share) {
    if (!rank.engine) return;
    EngineCounters own = rank.before;
    add_counters(own, rank.engine->counters());
    add_counters(counters, own);
    const auto usable = static_cast<double>(rank.engine->load().blocks_usable);
    blocks += usable * time_share;
    engines += time_share;
    if (usable > 0) {
      peak_kv_use = std::max(peak_kv_use, static_cast<double>(own.peak_blocks) / usable);
      peak_kv_empty = std::max(peak_kv_empty, own.peak_empty / usable);
    }
  }

  EngineUse over(Nanoseconds time, const RequestLevels& levels, Nanoseconds end) const {
    EngineUse use = engine_use(counters, 0, time);
    use.peak_kv_use = peak_kv_use;
    use.peak_kv_empty = peak_kv_empty;
    use.peak_running = levels.running.peak(end);
    use.peak_waiting = levels.waiting.peak(end);
    if (time <= 0 || engines <= 0) return use;
    if (blocks > 0) set_mean_kv_use(use, counters, static_cast<double>(time) * blocks);
    use.busy_share /= engines;
    return use;
  }
};

Nanoseconds paid_until(const ClusterReplica& replica, Nanoseconds end) {
  if (replica.state == ReplicaState::off) return replica.paid;
  return replica.paid + end - replica.paid_since;
}

}  // namespace

EngineUse use_of_all(const Fleet& fleet, Nanoseconds time, Nanoseconds end) {
  Sum sum;
  for (const ClusterReplica& replica : fleet.replicas()) {
    const Nanoseconds paid = std::min(paid_until(replica, end), time);
    const double share = time > 0 ? static_cast<double>(paid) / static_cast<double>(time) : 1.0;
    for (const Rank& rank : replica.ranks) sum.add(rank, share);
  }
  sum.counters.waiting_time += fleet.router_waiting_time();
  return sum.over(time, fleet.levels(), end);
}

void describe_replicas(const Fleet& fleet, Nanoseconds time, Nanoseconds end,
                       std::vector<ReplicaResult>& replicas) {
  for (std::int32_t i = 0; i < std::ssize(replicas); ++i) {
    const ClusterReplica& replica = fleet[i];
    Sum sum;
    for (const Rank& rank : replica.ranks) sum.add(rank, 1.0);
    const Nanoseconds paid = paid_until(replica, end);
    ReplicaResult& result = replicas[static_cast<std::size_t>(i)];
    result.pool = fleet.pool_of(i).name;
    result.served = replica.served;
    result.index = replica.index;
    result.use = sum.over(std::min(paid, time), replica.levels, end);
    result.paid = to_seconds(paid);
  }
}

}  // namespace roofcast

// Random small clusters: invariants that must always hold.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/simulator/cluster/cluster_support.hpp"
#include "tests/simulator/engine/engine_cases.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

RouterOptions draw_router(RandomStream& random) {
  return {.policy = static_cast<RouterPolicy>(draw(random, 0, 6)),
          .cache_threshold = 0.1,
          .balance_abs_threshold = draw(random, 0, 3)};
}

Autoscaling draw_autoscaling(RandomStream& random, std::int32_t replicas) {
  const bool queue = one_in(random, 2);
  return {.min_replicas = 1,
          .max_replicas = replicas + 2,
          .metric = queue ? Autoscaling::Metric::queue : Autoscaling::Metric::utilisation,
          .target = queue ? 2 : 0.6,
          .interval = draw(random, 1, 4) * kSecond,
          .start_up = draw(random, 0, 3) * kSecond,
          .scale_down_window = draw(random, 0, 5) * kSecond};
}

Pool draw_pool(RandomStream& random, const Replica& replica, PoolRole role) {
  Pool pool{.role = role, .replica = replica};
  pool.name = "pool" + std::to_string(static_cast<int>(role));
  pool.replicas = static_cast<std::int32_t>(draw(random, 1, 3));
  pool.ranks = one_in(random, 3) ? 2 : 1;
  pool.lockstep = one_in(random, 2);
  pool.rank_router = draw_router(random);
  if (one_in(random, 3)) pool.autoscaling = draw_autoscaling(random, pool.replicas);
  if (one_in(random, 3)) pool.replica.kv_blocks += 5;
  return pool;
}

Cluster random_cluster(std::uint64_t seed, const Replica& replica) {
  RandomStream random = random_stream(seed, "cluster");
  Cluster cluster;
  cluster.seed = seed;
  cluster.router = draw_router(random);
  cluster.decode_router = draw_router(random);
  const bool apart = one_in(random, 2) && replica.engine.scheduler != SchedulerKind::naive;
  if (!apart || one_in(random, 3)) {
    cluster.pools.push_back(draw_pool(random, replica, PoolRole::both));
  }
  if (apart) {
    cluster.pools.push_back(draw_pool(random, replica, PoolRole::prefill));
    cluster.pools.push_back(draw_pool(random, replica, PoolRole::decode));
  }
  cluster.link = {.bandwidth = BytesPerSecond{static_cast<double>(draw(random, 1, 20))},
                  .latency = Seconds{0.1 * static_cast<double>(draw(random, 0, 3))},
                  .shared = one_in(random, 2),
                  .overlapped = one_in(random, 2)};
  for (std::int64_t i = draw(random, 0, 3); i > 0; --i) {
    const std::int64_t pool = draw(random, 0, std::ssize(cluster.pools) - 1);
    const std::int32_t replicas = cluster.pools[static_cast<std::size_t>(pool)].replicas;
    Failure failure{.time = draw(random, 0, 20) * kSecond / 2,
                    .pool = static_cast<std::int32_t>(pool),
                    .replica = static_cast<std::int32_t>(draw(random, 0, replicas - 1)),
                    .retried = one_in(random, 2)};
    if (one_in(random, 2)) failure.back_after = draw(random, 0, 6) * kSecond;
    cluster.failures.push_back(failure);
  }
  return cluster;
}

/// Makes some requests later turns of sessions.
void draw_sessions(std::uint64_t seed, Workload& workload) {
  RandomStream random = random_stream(seed, "sessions");
  for (std::size_t i = 1; i < workload.requests.size(); ++i) {
    if (!one_in(random, 4)) continue;
    workload.requests[i].follows =
        static_cast<RequestId>(draw(random, 0, static_cast<std::int64_t>(i) - 1));
    workload.requests[i].arrival = draw(random, 0, 4) * kSecond / 2;
  }
}

struct ClusterCase {
  EngineCase engine;
  FakeStepTime step_time;
  Cluster cluster;

  explicit ClusterCase(std::uint64_t seed)
      : engine(random_engine_case(seed)), step_time(telling_time, engine.spans) {
    draw_sessions(seed, engine.workload);
    // Static batches are of whole prompts: engines of that kind say so.
    if (engine.engine.scheduler == SchedulerKind::static_batch) {
      engine.engine.chunked_prefill = false;
    }
    cluster = random_cluster(seed, {.engine = engine.engine,
                                    .layout = engine.layout,
                                    .kv_blocks = engine.usable_blocks + 1,
                                    .step_time = &step_time});
  }
  ClusterCase(const ClusterCase&) = delete;
  ClusterCase& operator=(const ClusterCase&) = delete;

  SimulationResult run(EngineKind kind) const {
    return simulate(cluster, engine.workload,
                    {.max_concurrency = engine.max_concurrency, .engine_kind = kind});
  }
};

auto whole_life_of(const RequestRecord& r) {
  return std::tuple(r.request.arrival, r.sent, r.queued, r.scheduled, r.first_token, r.finished,
                    r.largest_gap, r.cached_tokens, r.preemptions, r.replica, r.rejected, r.lost);
}

/// Every request ends exactly once, and its times are in order.
void check_records(const SimulationResult& result) {
  for (const RequestRecord& r : result.requests) {
    ASSERT_EQ((r.finished != kNever) + (r.rejected ? 1 : 0) + (r.lost ? 1 : 0), 1);
    if (r.finished == kNever) continue;
    ASSERT_GE(r.sent, r.request.arrival);
    ASSERT_GE(r.queued, r.sent);
    ASSERT_GE(r.scheduled, r.queued);
    ASSERT_GT(r.first_token, r.scheduled);
    ASSERT_GE(r.finished, r.first_token);
    if (r.request.follows == kNoRequest) continue;
    const auto& turn_before = result.requests[static_cast<std::size_t>(r.request.follows)];
    ASSERT_GE(r.request.arrival, turn_before.finished);
  }
  ASSERT_EQ(result.unfinished, 0);
  ASSERT_EQ(result.completed + result.rejected + result.lost, std::ssize(result.requests));
}

/// Shares are between 0 and 1, and no mean exceeds its peak.
void check_use(const EngineUse& use) {
  constexpr double kRounding = 1 + 1e-9;
  ASSERT_LE(use.busy_share, kRounding);
  ASSERT_LE(use.peak_kv_use, kRounding);
  ASSERT_LE(use.mean_kv_use, use.peak_kv_use * kRounding);
  ASSERT_GE(use.mean_kv_empty, -1e-9);
  ASSERT_LE(use.mean_kv_empty, use.mean_kv_use * kRounding);
  ASSERT_LE(use.mean_kv_empty, use.peak_kv_empty * kRounding);
  ASSERT_LE(use.mean_running, static_cast<double>(use.peak_running) * kRounding);
  ASSERT_LE(use.mean_waiting, static_cast<double>(use.peak_waiting) * kRounding);
}

/// Number of gaps between tokens of completed requests.
std::int64_t gaps_of(const SimulationResult& result) {
  std::int64_t gaps = 0;
  for (const RequestRecord& r : result.requests) {
    if (r.finished != kNever) gaps += r.request.output_tokens - 1;
  }
  return gaps;
}

void expect_same(const SimulationResult& plain, const SimulationResult& fast) {
  for (std::size_t i = 0; i < plain.requests.size(); ++i) {
    ASSERT_TRUE(whole_life_of(fast.requests[i]) == whole_life_of(plain.requests[i]))
        << "request " << i;
  }
  ASSERT_EQ(fast.use.steps, plain.use.steps);
  ASSERT_EQ(fast.use.mean_running, plain.use.mean_running);
  ASSERT_EQ(fast.use.peak_running, plain.use.peak_running);
  ASSERT_EQ(fast.use.mean_waiting, plain.use.mean_waiting);
  ASSERT_EQ(fast.use.peak_waiting, plain.use.peak_waiting);
}

TEST(ClusterInvariants, EveryRequestEndsOnceAndBothEnginesAgree) {
  std::int64_t completed = 0, rejected = 0, lost = 0, preemptions = 0, retried = 0;
  for (std::uint64_t seed = 0; seed < trials(3000U); ++seed) {
    SCOPED_TRACE(seed);
    const ClusterCase c(seed);
    const SimulationResult plain = c.run(EngineKind::plain);
    ASSERT_NO_FATAL_FAILURE(check_records(plain));
    const SimulationResult fast = c.run(EngineKind::fast);
    ASSERT_NO_FATAL_FAILURE(check_records(fast));
    ASSERT_NO_FATAL_FAILURE(check_use(plain.use));
    for (const ReplicaResult& replica : plain.replicas) {
      ASSERT_NO_FATAL_FAILURE(check_use(replica.use));
    }
    if (c.engine.engine.stream_interval > 1) {
      ASSERT_LE(plain.itl.count, gaps_of(plain));
    } else {
      ASSERT_EQ(plain.itl.count, gaps_of(plain));
    }
    ASSERT_EQ(fast.itl.count, plain.itl.count);
    completed += plain.completed;
    rejected += plain.rejected;
    lost += plain.lost;
    preemptions += plain.use.preemptions;
    for (const RequestRecord& r : plain.requests) retried += r.retried ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(expect_same(plain, fast));
  }
  // The cases reach what they are meant to reach.
  EXPECT_GT(completed, often(20'000));
  EXPECT_GT(rejected, often(5000));
  EXPECT_GT(lost, often(1000));
  EXPECT_GT(preemptions, often(1000));
  EXPECT_GT(retried, often(500));
}

}  // namespace
}  // namespace roofcast::test

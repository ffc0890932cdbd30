// Speed of a cluster: 100 replicas in one event queue, constant step times, so that only scheduling
// and routing are timed. Counters: requests and engine steps per second of one core.
#include <benchmark/benchmark.h>

#include "simulator/simulate.hpp"

namespace roofcast {
namespace {

class ConstantStepTime final : public StepTime {
 public:
  explicit ConstantStepTime(Seconds seconds) : seconds_(seconds) {}
  const std::vector<AttentionSpan>& spans() const override { return spans_; }
  Seconds seconds(const StepBatch&) const override { return seconds_; }

 private:
  Seconds seconds_;
  std::vector<AttentionSpan> spans_ = {AttentionSpan{}};
};

constexpr std::int32_t kReplicas = 100;

/// As in simulate_benchmark.cpp, for each replica: 36 of the 40 requests/s that it can serve.
Workload chat_like(std::int64_t requests) {
  return generate({.num_prompts = requests,
                   .request_rate = 36.0 * kReplicas,
                   .input = {LengthDistribution::Kind::lognormal, 150, 1},
                   .output = {LengthDistribution::Kind::lognormal, 180, 0.8}},
                  1);
}

Cluster chat_cluster(const StepTime& step_time, RouterPolicy policy) {
  Engine engine;
  engine.max_num_seqs = 256;
  engine.max_num_batched_tokens = 8192;
  CacheLayout layout;
  layout.layers_per_row = 1;
  layout.groups.resize(1);
  layout.groups[0].layers = 1;
  Cluster cluster;
  cluster.pools.push_back({.replica = {.engine = engine,
                                       .layout = layout,
                                       .kv_blocks = 1'000'000,
                                       .step_time = &step_time},
                           .replicas = kReplicas});
  cluster.router.policy = policy;
  return cluster;
}

void simulate_cluster(benchmark::State& state) {
  const ConstantStepTime step_time(Seconds{0.025});
  const Cluster cluster = chat_cluster(step_time, static_cast<RouterPolicy>(state.range(1)));
  const Workload workload = chat_like(state.range(0));
  double requests = 0, steps = 0;
  for (auto _ : state) {
    const SimulationResult result = simulate(cluster, workload, {});
    requests += static_cast<double>(result.completed);
    steps += static_cast<double>(result.use.steps);
  }
  using benchmark::Counter;
  state.counters["requests/s"] = Counter(requests, Counter::kIsRate);
  state.counters["steps/s"] = Counter(steps, Counter::kIsRate);
}

BENCHMARK(simulate_cluster)
    ->ArgNames({"requests", "router"})
    ->Args({100'000, static_cast<int>(RouterPolicy::round_robin)})
    ->Args({1'000'000, static_cast<int>(RouterPolicy::round_robin)})
    ->Args({1'000'000, static_cast<int>(RouterPolicy::least_outstanding)})
    ->Args({10'000'000, static_cast<int>(RouterPolicy::least_outstanding)})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace roofcast

// Speed of the simulator alone: step times are constant, so that only scheduling is timed.
// Counters: requests and engine steps per second of one core, output tokens for scale.
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

CacheLayout uniform_layout() {
  CacheLayout layout;
  layout.layers_per_row = 1;
  layout.groups.resize(1);
  layout.groups[0].layers = 1;
  return layout;
}

/// Lengths like ShareGPT's (medians and spreads of the order of 10^2 tokens), at a rate that keeps
/// most of the 256 places busy: 25 ms a step, about 250 steps a request, so 40 requests/s at most.
Workload chat_like(std::int64_t requests) {
  return generate({.num_prompts = requests,
                   .request_rate = 36,
                   .input = {LengthDistribution::Kind::lognormal, 150, 1},
                   .output = {LengthDistribution::Kind::lognormal, 180, 0.8}},
                  1);
}

void simulate_chat(benchmark::State& state) {
  const ConstantStepTime step_time(Seconds{0.025});
  Engine engine;
  engine.max_num_seqs = 256;
  engine.max_num_batched_tokens = 8192;
  const Replica replica{.engine = engine,
                        .layout = uniform_layout(),
                        .kv_blocks = state.range(1),
                        .step_time = &step_time};
  const Workload workload = chat_like(state.range(0));
  double requests = 0, steps = 0, tokens = 0, preemptions = 0;
  for (auto _ : state) {
    const SimulationResult result = simulate(replica, workload, {});
    requests += static_cast<double>(result.completed);
    steps += static_cast<double>(result.use.steps);
    tokens += static_cast<double>(result.use.decode_tokens);
    preemptions += static_cast<double>(result.use.preemptions);
  }
  using benchmark::Counter;
  state.counters["requests/s"] = Counter(requests, Counter::kIsRate);
  state.counters["steps/s"] = Counter(steps, Counter::kIsRate);
  state.counters["decode_tokens/s"] = Counter(tokens, Counter::kIsRate);
  state.counters["preemptions"] = Counter(preemptions, Counter::kAvgIterations);
}

// Roomy cache, then one that makes the engine preempt.
BENCHMARK(simulate_chat)
    ->ArgNames({"requests", "kv_blocks"})
    ->Args({100'000, 1'000'000})
    ->Args({100'000, 4'500})
    ->Unit(benchmark::kMillisecond);

void generate_workload(benchmark::State& state) {
  double requests = 0;
  for (auto _ : state) {
    requests += static_cast<double>(chat_like(state.range(0)).requests.size());
  }
  state.counters["requests/s"] = benchmark::Counter(requests, benchmark::Counter::kIsRate);
}
BENCHMARK(generate_workload)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace roofcast

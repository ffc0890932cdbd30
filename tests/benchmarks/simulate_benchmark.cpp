// Speed of a simulation, with the step times of Llama-3.1-8B on one H100 under vLLM's defaults.
// Counters: requests and engine steps per second of one core, and the process's peak memory so far
// (MB): run a single case (--benchmark_filter) to read its own.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>

#include "model/engines/engine.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/memory/memory_plan.hpp"
#include "model/step/step_estimate.hpp"
#include "simulator/io/trace_reader.hpp"
#include "simulator/simulate.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

/// A replica and the objects that it refers to.
struct Machine {
  Deployment deployment;
  RooflineStepTime step_time;
  MemoryPlan plan;

  Machine()
      : deployment({.model = test::llama_3_1_8b(), .gpu = load_gpu("h100").gpu}),
        step_time((deployment.engine = resolve_engine("vllm", {}, deployment.model, deployment.gpu,
                                                      deployment.parallel),
                   deployment)),
        plan(plan_memory(deployment)) {}

  Replica replica() const {
    return {.engine = deployment.engine,
            .layout = plan.layout,
            .kv_blocks = plan.kv_blocks,
            .step_time = &step_time};
  }
};

/// A lognormal distribution with this mean, whose top percent is ten times the median (assumption).
LengthDistribution lengths_of_mean(double mean) {
  constexpr double kSigma = 1.0;
  return {LengthDistribution::Kind::lognormal, mean / std::exp(kSigma * kSigma / 2), kSigma};
}

/// Lengths of ShareGPT: 161 tokens in, 338 out on average (Kwon et al. 2023, SOSP, section 6.1).
SyntheticWorkload chat(std::int64_t requests, double rate) {
  return {.num_prompts = requests,
          .request_rate = rate,
          .input = lengths_of_mean(161.31),
          .output = lengths_of_mean(337.99)};
}

/// Request rate of the replica when a long queue exists from the start.
double saturation_rate(const Replica& replica) {
  const Workload workload = generate(chat(50'000, kAllAtOnce), 2);
  return simulate(replica, workload, {}).request_rate_per_s;
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;  // kilobytes on Linux
}

/// Totals over the iterations of a case.
struct Totals {
  double requests = 0, steps = 0, tokens = 0;

  void add(const SimulationResult& result) {
    requests += static_cast<double>(result.completed);
    steps += static_cast<double>(result.use.steps);
    tokens += static_cast<double>(result.use.decode_tokens);
  }

  void report(benchmark::State& state) const {
    using benchmark::Counter;
    state.counters["requests/s"] = Counter(requests, Counter::kIsRate);
    state.counters["steps/s"] = Counter(steps, Counter::kIsRate);
    state.counters["decode_tokens/s"] = Counter(tokens, Counter::kIsRate);
    state.counters["peak_MB"] = peak_memory_mb();
  }
};

void simulate_chat(benchmark::State& state, EngineKind kind) {
  const Machine machine;
  const Replica replica = machine.replica();
  const double rate = 0.9 * saturation_rate(replica);
  const Workload workload = generate(chat(state.range(0), rate), 1);
  Totals totals;
  double running = 0;
  for (auto _ : state) {
    const SimulationResult result = simulate(replica, workload, {.engine_kind = kind});
    totals.add(result);
    running = result.use.mean_running;
  }
  totals.report(state);
  state.counters["running"] = running;
}

void Chat(benchmark::State& state) { simulate_chat(state, EngineKind::fast); }
BENCHMARK(Chat)
    ->ArgName("requests")
    ->Arg(10'000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Arg(10'000'000)
    ->Unit(benchmark::kMillisecond);

void ChatPlain(benchmark::State& state) { simulate_chat(state, EngineKind::plain); }
BENCHMARK(ChatPlain)->ArgName("requests")->Arg(100'000)->Unit(benchmark::kMillisecond);

/// Azure's conversation trace (2023): 19,366 requests in one hour.
void azure(benchmark::State& state, EngineKind kind) {
  const std::filesystem::path path = std::filesystem::path(ROOFCAST_SHARED_DATA) /
                                     "traces/azure2023/AzureLLMInferenceTrace_conv.csv.gz";
  if (!std::filesystem::exists(path)) {
    state.SkipWithError("the trace is not here");
    return;
  }
  const Machine machine;
  const Replica replica = machine.replica();
  const Workload workload = read_trace({.path = path.string()});
  Totals totals;
  for (auto _ : state) totals.add(simulate(replica, workload, {.engine_kind = kind}));
  totals.report(state);
}

void Azure(benchmark::State& state) { azure(state, EngineKind::fast); }
BENCHMARK(Azure)->Unit(benchmark::kMillisecond);
void AzurePlain(benchmark::State& state) { azure(state, EngineKind::plain); }
BENCHMARK(AzurePlain)->Unit(benchmark::kMillisecond);

void GenerateChat(benchmark::State& state) {
  double requests = 0;
  for (auto _ : state) {
    requests += static_cast<double>(generate(chat(state.range(0), 50), 1).requests.size());
  }
  state.counters["requests/s"] = benchmark::Counter(requests, benchmark::Counter::kIsRate);
}
BENCHMARK(GenerateChat)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace roofcast

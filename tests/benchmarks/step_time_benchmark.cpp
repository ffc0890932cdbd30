// Cost of the step-time seam itself: a simulation calls it 10^5 to 10^6 times.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>

#include "model/engines/engine.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/step/generation_estimate.hpp"
#include "tests/model/curves/measured_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

Deployment on_h100(Transformer model) {
  Deployment deployment{.model = std::move(model), .gpu = load_gpu("h100").gpu};
  deployment.engine = resolve_engine("vllm", {}, deployment.model, deployment.gpu, {});
  return deployment;
}

/// A deployment with a curve for every operator, as after a calibration of this model.
Deployment calibrated(Transformer model) {
  Deployment deployment = on_h100(std::move(model));
  deployment.gpu.measured = test::measured_for(deployment);
  return deployment;
}

/// Decode-only steps with growing context, as in a simulation.
void decode_steps(benchmark::State& state, const Deployment& deployment) {
  const RooflineStepTime step_time(deployment);
  StepBatch batch = decode_batch(deployment.model, state.range(0), 1000);
  for (auto _ : state) {
    for (std::int64_t& attended : batch.decode_attended) attended += state.range(0);
    benchmark::DoNotOptimize(step_time.seconds(batch));
  }
  state.SetItemsProcessed(state.iterations());
}

void DecodeStepDense(benchmark::State& state) {
  decode_steps(state, on_h100(test::llama_3_1_8b()));
}
BENCHMARK(DecodeStepDense)->Arg(1)->Arg(64)->Arg(500);

void DecodeStepMeasured(benchmark::State& state) {
  decode_steps(state, calibrated(test::llama_3_1_8b()));
}
BENCHMARK(DecodeStepMeasured)->Arg(1)->Arg(64)->Arg(500);

void DecodeStepTwoSpans(benchmark::State& state) {
  decode_steps(state, on_h100(test::gemma_3_27b()));
}
BENCHMARK(DecodeStepTwoSpans)->Arg(64);

void DecodeStepHybrid(benchmark::State& state) {
  decode_steps(state, on_h100(test::nemotron_3_nano()));
}
BENCHMARK(DecodeStepHybrid)->Arg(64);

/// A prefill chunk with decoding sequences, with token counts that repeat.
void mixed_steps(benchmark::State& state, const Deployment& deployment) {
  const RooflineStepTime step_time(deployment);
  StepBatch batch = decode_batch(deployment.model, 64, 1000);
  batch.prefills = {{.new_tokens = 448, .context_tokens = 0}};
  for (auto _ : state) {
    batch.prefills[0].context_tokens = (batch.prefills[0].context_tokens + 448) % 8192;
    benchmark::DoNotOptimize(step_time.seconds(batch));
  }
  state.SetItemsProcessed(state.iterations());
}

void MixedStep(benchmark::State& state) { mixed_steps(state, on_h100(test::llama_3_1_8b())); }
BENCHMARK(MixedStep);

void MixedStepMeasured(benchmark::State& state) {
  mixed_steps(state, calibrated(test::llama_3_1_8b()));
}
BENCHMARK(MixedStepMeasured);

/// New token counts only: no matrix time is reused.
void FirstStepOfATokenCount(benchmark::State& state) {
  const Deployment deployment = on_h100(test::llama_3_1_8b());
  RooflineStepTime step_time(deployment);
  std::int64_t tokens = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(step_time.seconds(prefill_batch(1, 100000 + tokens++)));
  }
}
BENCHMARK(FirstStepOfATokenCount);

void ExplainDecode(benchmark::State& state) {
  const Transformer model = test::llama_3_1_8b();
  const RooflineStepTime step_time(on_h100(model));
  const StepBatch batch = decode_batch(model, 64, 1000);
  for (auto _ : state) benchmark::DoNotOptimize(step_time.explain(batch));
}
BENCHMARK(ExplainDecode);

void ExplainPrefill(benchmark::State& state) {
  const Transformer model = test::llama_3_1_8b();
  const RooflineStepTime step_time(on_h100(model));
  const StepBatch batch = prefill_batch(1, 2048);
  for (auto _ : state) benchmark::DoNotOptimize(step_time.explain(batch));
}
BENCHMARK(ExplainPrefill);

void ConstructDense(benchmark::State& state) {
  const Deployment deployment = on_h100(test::llama_3_1_8b());
  for (auto _ : state) benchmark::DoNotOptimize(RooflineStepTime(deployment).spans().data());
}
BENCHMARK(ConstructDense)->Unit(benchmark::kMicrosecond);

void ConstructMeasured(benchmark::State& state) {
  const Deployment deployment = calibrated(test::llama_3_1_8b());
  for (auto _ : state) benchmark::DoNotOptimize(RooflineStepTime(deployment).spans().data());
}
BENCHMARK(ConstructMeasured)->Unit(benchmark::kMicrosecond);

void ConstructExperts(benchmark::State& state) {
  const Deployment deployment = on_h100(test::deepseek_v3());
  for (auto _ : state) benchmark::DoNotOptimize(RooflineStepTime(deployment).spans().data());
}
BENCHMARK(ConstructExperts)->Unit(benchmark::kMicrosecond);

void GenerationOfAThousandTokens(benchmark::State& state) {
  const Deployment deployment = on_h100(test::llama_3_1_8b());
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimate_generation(deployment, 32, 1000, 1000));
  }
}
BENCHMARK(GenerationOfAThousandTokens)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace roofcast

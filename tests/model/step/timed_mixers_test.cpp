// Kernels beside plain attention and products that curves may time: recurrent mixers, absorbed
// products, the quantisation of activations.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "model/architecture/requantise.hpp"
#include "model/curves/kernel_tables.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/measured_time.hpp"
#include "model/step/shared_experts.hpp"
#include "model/step/step_estimate.hpp"
#include "tests/model/step/step_time_cases.hpp"

namespace roofcast {
namespace {

using test::deployment_of;
using test::round_gpu;

/// A curve with one time at all sizes.
MeasuredCurve level_curve(const OperatorShape& shape, double microseconds) {
  MeasuredCurve curve{.shape = shape, .kernel = "some, vLLM 0.24.0"};
  curve.terms.floor = Seconds{microseconds * 1e-6};
  const std::vector<double> others =
      has_second_axis(shape.family) ? std::vector<double>{1, 64, 1024} : std::vector<double>{0};
  for (const double x : {1.0, 64.0, 65536.0}) {
    for (const double y : others) {
      curve.points.push_back({.x = x, .y = y, .time = curve.terms.floor, .samples = 1});
    }
  }
  return curve;
}

Deployment with_curves(Deployment deployment, std::vector<MeasuredCurve> curves) {
  deployment.gpu.measured.emplace();
  deployment.gpu.measured->curves = std::move(curves);
  return deployment;
}

/// The time of an operator in all layers; 0 if the step has none of that name.
double time_of(const StepEstimate& step, const std::string& name) {
  double total = 0;
  for (const OperatorEstimate& op : step.operators) {
    if (op.work.name == name) total += op.time.value;
  }
  return total;
}

StepEstimate decode(const Deployment& deployment, std::int64_t sequences) {
  return RooflineStepTime(deployment).explain(decode_batch(deployment.model, sequences, 1023));
}

/// Qwen3.5-35B-A3B on one GPU, and the shape of one of its delta nets' kernels: 32 value heads, 16
/// key heads of 128, four taps.
struct DeltaNets {
  Deployment deployment = deployment_of(load_model("qwen3.5-35b-a3b"), round_gpu());

  double layers() const {
    double count = 0;
    for (const Layer& layer : deployment.model.layers) {
      if (std::holds_alternative<GatedDeltaNet>(layer.mixer)) ++count;
    }
    return count;
  }
  static OperatorShape shape(const std::string& name, DType cache) {
    return {.family = OperatorFamily::recurrent,
            .name = name,
            .cache = cache,
            .outputs = 4,
            .query_heads = 32,
            .kv_heads = 16,
            .head_dim = 128,
            .value_dim = 128};
  }
};

TEST(TimedMixers, ARecurrentMixerIsTheSumOfItsKernels) {
  const DeltaNets nets;
  ASSERT_EQ(nets.deployment.model.state_dtype, DType::fp32);
  // 64 states of 32 x 128 x 128 numbers of 4 bytes, read and written, take 268 us at 1 TB/s.
  const MeasuredCurve update =
      level_curve(DeltaNets::shape("gated_delta_update", DType::fp32), 900);
  const MeasuredCurve convolution =
      level_curve(DeltaNets::shape("gated_delta_conv_update", DType::bf16), 300);
  const double both =
      time_of(decode(with_curves(nets.deployment, {update, convolution}), 64), "state_update");
  EXPECT_NEAR(both, nets.layers() * 1200e-6, 1e-9);
  // A convolution alone leaves half of the untimed operator.
  const double whole = time_of(decode(nets.deployment, 64), "state_update");
  const double half =
      time_of(decode(with_curves(nets.deployment, {convolution}), 64), "state_update");
  EXPECT_NEAR(half, nets.layers() * 300e-6 + whole / 2, 1e-9);
}

// 1,024 and 512 tokens count as (1,536^2) / (1,024^2 + 512^2) = 1.8 prompts of 853.3: between
// sizes, where a flat curve still takes as long.
TEST(TimedMixers, PromptsAreScannedTogether) {
  const DeltaNets nets;
  const Deployment timed = with_curves(
      nets.deployment, {level_curve(DeltaNets::shape("gated_delta_scan", DType::fp32), 500),
                        level_curve(DeltaNets::shape("gated_delta_conv", DType::bf16), 50)});
  StepBatch batch;
  batch.prefills = {{.new_tokens = 1024}, {.new_tokens = 512}};
  const StepEstimate step = RooflineStepTime(timed).explain(batch);
  EXPECT_NEAR(time_of(step, "state_scan"), nets.layers() * 550e-6, 1e-9);
}

// DeepSeek-V3 on eight ranks of 16 heads, 61 layers.
TEST(TimedMixers, DecodingTakesTheAbsorbedProducts) {
  const Deployment plain = deployment_of(load_model("deepseek-v3"), round_gpu(), {.tensor = 8});
  const auto product = [](std::int64_t outputs, std::int64_t inputs) {
    return OperatorShape{.family = OperatorFamily::gemm,
                         .format = "bf16",
                         .outputs = outputs,
                         .inputs = inputs,
                         .query_heads = 16};
  };
  // The round GPU reads 16 x 512 x 128 x 2 bytes in 2 us.
  const Deployment timed =
      with_curves(plain, {level_curve(product(512, 128), 70), level_curve(product(128, 512), 50)});
  const StepEstimate step = decode(timed, 8);
  EXPECT_NEAR(time_of(step, "absorbed_keys"), 61 * 70e-6, 1e-9);
  EXPECT_NEAR(time_of(step, "absorbed_values"), 61 * 50e-6, 1e-9);
  EXPECT_EQ(time_of(step, "kv_b_proj"), 0);
  EXPECT_GT(time_of(decode(plain, 8), "kv_b_proj"), 0);
  const StepEstimate prompts = RooflineStepTime(timed).explain(prefill_batch(1, 64));
  EXPECT_EQ(time_of(prompts, "absorbed_keys"), 0);
  EXPECT_GT(time_of(prompts, "kv_b_proj"), 0);
}

TEST(TimedMixers, FindingScalesAddsToQuantising) {
  const Deployment plain = deployment_of(load_model("deepseek-v3"), round_gpu(), {.tensor = 8});
  const OperatorShape rows{
      .family = OperatorFamily::memory_bound, .name = "quantise_activations", .inputs = 7168};
  OperatorShape scales = rows;
  scales.name = "activation_scales";
  Deployment timed = with_curves(plain, {level_curve(rows, 30), level_curve(scales, 20)});
  const double both = time_of(decode(timed, 8), "quantise_activations");
  EXPECT_NEAR(time_of(decode(timed, 8), "activation_scales"), both / 30 * 20, 1e-9);
  timed.engine.version = "trtllm";
  EXPECT_EQ(time_of(decode(timed, 8), "activation_scales"), 0);
  EXPECT_NEAR(time_of(decode(timed, 8), "quantise_activations"), both, 1e-12);
}

// DeepSeek-V3 on 8 ranks, by engine and layout, as each engine's source has it.
TEST(TimedMixers, SharedExpertsRunBesideRoutedOnesAsTheEngineDoes) {
  Deployment d = deployment_of(load_model("deepseek-v3"), round_gpu(), {.tensor = 8});
  d.gpu.vendor = "NVIDIA";
  d.gpu.compute_capability = "9.0";
  const Layer layer = d.model.layers.back();
  const auto beside = [&](const char* version, bool over_ranks) {
    d.engine.version = version;
    d.parallel.expert_parallel = over_ranks;
    return shared_expert_overlap(d, layer);
  };
  const SharedExpertOverlap always{.up_to = std::numeric_limits<std::int64_t>::max()};
  const SharedExpertOverlap in_graphs{.up_to = always.up_to, .only_in_graphs = true};
  const SharedExpertOverlap in_sglangs_graphs{.up_to = 1024, .only_in_graphs = true};
  EXPECT_EQ(beside("vllm-0.11", false), SharedExpertOverlap{});
  EXPECT_EQ(beside("vllm-0.19", false), SharedExpertOverlap{.up_to = 256});
  EXPECT_EQ(beside("sglang-0.5.9", false), always);  // the 257th routed expert
  EXPECT_EQ(beside("sglang-0.5.9", true), in_sglangs_graphs);
  EXPECT_EQ(beside("trtllm-1.3", true), in_graphs);
  EXPECT_FALSE(beside("trtllm-0.18", false).in_step(1, true));
  EXPECT_EQ(beside("textbook", false), SharedExpertOverlap{});
  EXPECT_EQ(shared_expert_overlap(d, d.model.layers.front()), SharedExpertOverlap{});  // dense
  d.gpu.compute_capability = "10.0";  // flashinfer_trtllm experts
  EXPECT_EQ(beside("sglang-0.5.9", false), in_sglangs_graphs);
  d.gpu.vendor = "AMD";
  d.gpu.compute_capability = "gfx942";
  EXPECT_EQ(beside("vllm-0.19", false), SharedExpertOverlap{});
  EXPECT_EQ(beside("sglang-0.5.9", false), always);
  EXPECT_EQ(beside("sglang-0.5.9", true), always);
  EXPECT_EQ(beside("atom-0.1.2", true), always);
  d.parallel = {.data = 8};
  EXPECT_EQ(beside("atom-0.1.2", true), SharedExpertOverlap{.up_to = 1024});
}

TEST(TimedMixers, WhatRunsBesideInGraphsRunsInTurnWhereKernelsAreLaunched) {
  const SharedExpertOverlap streams{.up_to = 1024, .only_in_graphs = true};
  EXPECT_TRUE(streams.in_step(1024, true));
  EXPECT_FALSE(streams.in_step(1025, true));
  EXPECT_FALSE(streams.in_step(8, false));
  EXPECT_FALSE(SharedExpertOverlap{}.in_step(1, true));

  // The same 40 tokens of DeepSeek-V3 on eight ranks as decodes in a graph and as prompts outside:
  // only there the shared expert's matrices take what they were timed at, 50 us in each layer.
  Deployment d = deployment_of(load_model("deepseek-v3"), round_gpu(), {.tensor = 8});
  d.gpu.vendor = "NVIDIA";
  d.gpu.compute_capability = "10.0";
  d.engine.scheduler = SchedulerKind::sglang;
  d.engine.eager_prefill = true;
  d.engine.graph_batch_sizes = {40};
  d.engine.version = "sglang-0.5.9";
  d.gpu.tables = std::make_shared<KernelTables>("no times", [] {
    return KernelTables::Contents{.groups = {{.source = "SGLang 0.5.9"}},
                                  .unpack = [](std::size_t) { return CurveGroup{}; }};
  });
  const OperatorShape up{
      .family = OperatorFamily::gemm, .format = "fp8_block", .outputs = 512, .inputs = 7168};
  const Deployment timed = with_curves(d, {level_curve(up, 50)});
  const RooflineStepTime step_time(timed);
  const double in_graph =
      time_of(step_time.explain(decode_batch(d.model, 40, 100)), "shared_experts.gate_up_proj");
  const double launched =
      time_of(step_time.explain(prefill_batch(1, 40)), "shared_experts.gate_up_proj");
  EXPECT_NEAR(launched, 58 * 50e-6, 1e-4);
  EXPECT_LT(in_graph, launched / 2);
}

// Tables of engines time a layer from the router's scores on, libraries the experts alone.
TEST(TimedMixers, ExpertsOfEnginesIncludeChoosingThem) {
  const Deployment plain = deployment_of(load_model("deepseek-v3"), round_gpu(), {.tensor = 8});
  const auto choosing = [&](const char* kernel) {
    MeasuredCurve curve = level_curve({.family = OperatorFamily::moe,
                                       .format = "fp8_block",
                                       .outputs = 256,
                                       .inputs = 7168,
                                       .experts = 256,
                                       .experts_per_token = 8,
                                       .gated = true},
                                      900);
    curve.kernel = kernel;
    return time_of(decode(with_curves(plain, {curve}), 8), "top_k");
  };
  EXPECT_GT(time_of(decode(plain, 8), "top_k"), 0);
  EXPECT_EQ(choosing("triton, SGLang 0.5.14"), 0);
  EXPECT_GT(choosing("moe_2stages, AITER"), 0);
}

// An engine's linear layer quantises its input itself; a library's product does not.
TEST(TimedMixers, ProductsOfEnginesIncludeQuantising) {
  const Deployment plain = deployment_of(load_model("deepseek-v3"), round_gpu(), {.tensor = 8});
  // The product of o_proj, 16 heads of 128 to 7,168: no other has an input of that length.
  const auto timed_by = [&](const char* kernel) {
    MeasuredCurve curve = level_curve(
        {.family = OperatorFamily::gemm, .format = "fp8_block", .outputs = 7168, .inputs = 2048},
        40);
    curve.kernel = kernel;
    const Deployment timed = with_curves(plain, {curve});
    return quantises_input(timed.gpu, curve.shape, "vllm-0.24");
  };
  EXPECT_TRUE(timed_by("cutlass, vLLM 0.24.0"));
  EXPECT_TRUE(timed_by("TRTLLM 1.3.0"));
  EXPECT_FALSE(timed_by("gemm_a8w8_blockscale, AITER"));
  EXPECT_FALSE(quantises_input(plain.gpu, {.family = OperatorFamily::gemm}, "vllm-0.24"));

  MeasuredCurve curve = level_curve(
      {.family = OperatorFamily::gemm, .format = "fp8_block", .outputs = 7168, .inputs = 2048}, 40);
  curve.kernel = "cutlass, vLLM 0.24.0";
  EXPECT_GT(time_of(decode(plain, 8), "quantise_activations"), 0);
  EXPECT_EQ(time_of(decode(with_curves(plain, {curve}), 8), "quantise_activations"), 0);
  // TensorRT-LLM's fp8 rows are without: profile import takes it off.
  curve.shape.format = "fp8";
  curve.kernel = "torch_flow, TRTLLM 1.3.0";
  EXPECT_FALSE(quantises_input(with_curves(plain, {curve}).gpu, curve.shape, "trtllm-1.3"));
  curve.kernel = "cutlass, vLLM 0.24.0";
  EXPECT_TRUE(quantises_input(with_curves(plain, {curve}).gpu, curve.shape, "vllm-0.24"));
}

/// How often a decode step quantises activations in a kernel of its own.
std::int64_t quantisations(const std::string& model, const std::string& engine, int ranks) {
  Deployment d = deployment_of(load_model(model), round_gpu(), {.tensor = ranks});
  requantise(d.model, "fp8");
  d.engine.version = engine;
  std::int64_t calls = 0;
  for (const OperatorEstimate& op : decode(d, 8).operators) {
    if (op.work.name == "quantise_activations") calls += op.work.calls;
  }
  return calls;
}

// Four products in each of Llama-3.1-70B's 80 layers; the 32 layers of Llama-3.1-8B are 4,096 wide.
TEST(TimedMixers, TensorrtLlmQuantisesInTheKernelBeforeAProduct) {
  EXPECT_EQ(quantisations("llama-3.1-70b", "vllm-0.24", 2), 4 * 80);
  EXPECT_EQ(quantisations("llama-3.1-70b", "trtllm-0.13", 2), 4 * 80);
  EXPECT_EQ(quantisations("llama-3.1-70b", "trtllm-1.2", 2), 0);
  EXPECT_EQ(quantisations("llama-3.1-70b", "trtllm-1.2", 1), 2 * 80);  // norms without all-reduce
  EXPECT_EQ(quantisations("llama-3.1-70b", "trtllm-1.0", 2), 80);      // SwiGLU from 1.1 on
  EXPECT_EQ(quantisations("llama-3.1-8b", "trtllm-1.2", 2), 2 * 32);   // fused only if wider
}

}  // namespace
}  // namespace roofcast

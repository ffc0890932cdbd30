#include "model/step/version_terms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/dotted_version.hpp"
#include "model/engines/engine.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/error_causes.hpp"
#include "model/step/step_estimate.hpp"
#include "model/step/step_work.hpp"

namespace roofcast {
namespace {

constexpr Parallelism kEightRanks{.tensor = 8};

Deployment on_eight(const char* model, const char* gpu, const char* engine) {
  Deployment d{.model = load_model(model), .gpu = load_gpu(gpu).gpu, .parallel = kEightRanks};
  d.engine = resolve_engine(engine, {}, d.model, d.gpu, d.parallel);
  return d;
}

Deployment deepseek_on(const char* gpu, const char* engine) {
  return on_eight("deepseek-r1", gpu, engine);
}

OperatorShape latents_product() {
  return {.family = OperatorFamily::gemm, .format = "fp8_block", .outputs = 2112, .inputs = 7168};
}

double least_us(const char* gpu, const char* engine, const OperatorShape& shape) {
  return least_product_time(deepseek_on(gpu, engine), shape).value * 1e6;
}

// 1,000 rows of 7,168 x 2,112 are 30.28 GFLOP: 39.9 us at 759 TFLOP/s, in the benchmark's kernel.
TEST(VersionTerms, LowLatencyProductsComputePromptsSlowly) {
  Deployment d = deepseek_on("b200", "sglang-0.5.12");
  EXPECT_EQ(least_row_time(d, latents_product()).value, 0);
  d.engine.fp8_gemm_backend = Fp8GemmBackend::flashinfer_trtllm;
  EXPECT_NEAR(least_row_time(d, latents_product()).value * 1000, 2.0 * 7168 * 2112 * 1000 / 759e12,
              1e-12);
  // 176 MB of weights are more than the L2 cache holds: the benchmark's own shape and rate.
  OperatorShape large = latents_product();
  large.outputs = 24576;
  EXPECT_NEAR(least_row_time(d, large).value * 1024, (1632.5 - 826.2) * 1e-6, 0.01 * 806.3e-6);
  OperatorShape wide = latents_product();
  wide.format = "bf16";
  EXPECT_EQ(least_row_time(d, wide).value, 0);
  Deployment hopper = deepseek_on("h200", "sglang-0.5.12");
  hopper.engine.fp8_gemm_backend = Fp8GemmBackend::flashinfer_trtllm;
  EXPECT_EQ(least_row_time(hopper, latents_product()).value, 0);
}

TEST(VersionTerms, LowLatencyProductsLeaveDecodesAsTheyAre) {
  Deployment d = deepseek_on("b200", "sglang-0.5.12");
  const RooflineStepTime usual(d);
  d.engine.fp8_gemm_backend = Fp8GemmBackend::flashinfer_trtllm;
  const RooflineStepTime low_latency(d);
  const StepBatch decode = decode_batch(d.model, 8, 1023);
  EXPECT_EQ(low_latency.seconds(decode), usual.seconds(decode));
  const StepBatch prompt = prefill_batch(1, 8192);
  EXPECT_GT(low_latency.seconds(prompt), usual.seconds(prompt));
  for (const OperatorEstimate& op : low_latency.explain(prompt).operators) {
    if (op.work.name != "qkv_a_proj") continue;
    EXPECT_NEAR(op.time.value, 61 * 8192 * 2.0 * 7168 * 2112 / 759e12, 1e-9);
    EXPECT_EQ(op.provenance, Provenance::extended);
    EXPECT_EQ(op.source, "");
    EXPECT_GE(op.relative_uncertainty, kUntimedKernelDeviation);
  }
}

TEST(VersionTerms, ATermHoldsForItsVersionsOnItsChipAlone) {
  const OperatorShape product = latents_product();
  EXPECT_DOUBLE_EQ(least_us("mi300x", "sglang-0.5.6", product), 117);
  EXPECT_DOUBLE_EQ(least_us("mi325x", "sglang-0.5.9", product), 117);
  EXPECT_DOUBLE_EQ(least_us("mi300x", "sglang-0.5.5.post3", product), 117);
  EXPECT_EQ(least_us("mi300x", "sglang-0.5.10", product), 0);
  EXPECT_EQ(least_us("mi300x", "sglang-0.5.12", product), 0);
  EXPECT_EQ(least_us("mi355x", "sglang-0.5.9", product), 0);
  EXPECT_EQ(least_us("mi300x", "vllm-0.19", product), 0);
  OperatorShape other = product;
  other.inputs = 2048;
  EXPECT_EQ(least_us("mi300x", "sglang-0.5.9", other), 0);
}

// 28 times 256 inputs: 2.9 + 2.99 + 28 x 1.07 us. 8,192 rows and 2,112 outputs are 512 x 17
// tiles, 28.6 for each of 304 multiprocessors.
TEST(VersionTerms, TheDefaultTileTakesTurns) {
  for (const char* engine : {"sglang-0.5.2", "sglang-0.5.4"}) {
    EXPECT_NEAR(least_us("mi300x", engine, latents_product()), 35.85, 0.01) << engine;
    const Seconds row = least_row_time(deepseek_on("mi300x", engine), latents_product());
    EXPECT_NEAR(row.value * 8192, 8192.0 / 16 * 17 / 304 * 28 * 1.07e-6, 1e-8) << engine;
  }
  EXPECT_EQ(least_row_time(deepseek_on("mi300x", "sglang-0.5.9"), latents_product()).value, 0);
  EXPECT_EQ(least_row_time(deepseek_on("mi355x", "sglang-0.5.2"), latents_product()).value, 0);
}

// "0.5" is the newest of 0.5, which has tuned settings.
TEST(VersionTerms, AVersionThatIsNotStatedExactlyHasNone) {
  EXPECT_EQ(least_us("mi300x", "sglang", latents_product()), 0);
  EXPECT_EQ(least_us("mi300x", "sglang-0.5", latents_product()), 0);
}

TEST(VersionTerms, EveryRowHasASourceAndARange) {
  for (const UntunedProduct& row : untuned_products()) {
    EXPECT_TRUE(is_older(row.from, row.before)) << row.source;
    EXPECT_GT(row.least.value, 0);
    EXPECT_FALSE(row.source.empty());
  }
}

// 61 layers have the product once. At 4 sequences AITER's kernel takes far less than 117 us, so a
// step of 0.5.9 has 61 x 117 us = 7.137 ms of it.
TEST(VersionTerms, AStepHasTheUntunedProduct) {
  const auto estimate_of = [](const char* engine) {
    const Deployment d = deepseek_on("mi300x", engine);
    return RooflineStepTime(d).explain(decode_batch(d.model, 4, 1000));
  };
  const auto time_of_product = [](const StepEstimate& step) {
    for (const OperatorEstimate& op : step.operators) {
      if (op.work.name == "qkv_a_proj") return op.time.value;
    }
    return 0.0;
  };
  const StepEstimate untuned = estimate_of("sglang-0.5.9");
  const StepEstimate tuned = estimate_of("sglang-0.5.12");
  EXPECT_NEAR(time_of_product(untuned), 61 * 117e-6, 1e-9);
  EXPECT_LT(time_of_product(tuned), 61 * 30e-6);
  EXPECT_GT(untuned.total.value - tuned.total.value,
            time_of_product(untuned) - time_of_product(tuned));
}

Deployment with_drafts(const char* gpu, const char* engine) {
  Deployment d = deepseek_on(gpu, engine);
  d.engine = resolve_engine(
      engine,
      {.num_speculative_tokens = 2, .speculative_method = DraftMethod::mtp, .acceptance_rate = 0.7},
      d.model, d.gpu, d.parallel);
  return d;
}

// ROCm/aiter pull 2404: 1,599.97 us where the kernel for more rows takes 918.21, with 4,096 tokens
// of which each picks 8 of 256 experts; and so on.
TEST(DefaultExperts, AreSlowerWhereAnExpertGetsMoreRowsThanABlock) {
  EXPECT_EQ(default_experts_ratio(0.25), 1);
  EXPECT_EQ(default_experts_ratio(32), 1);
  EXPECT_NEAR(default_experts_ratio(128), 1.7425, 1e-4);
  EXPECT_NEAR(default_experts_ratio(256), 1.8844, 1e-4);
  EXPECT_NEAR(default_experts_ratio(512), 1.5387, 1e-4);
  EXPECT_NEAR(default_experts_ratio(64), (1 + 1.7425) / 2, 1e-4);
  EXPECT_EQ(default_experts_ratio(1e6), default_experts_ratio(512));
}

// 8,192 tokens give each of DeepSeek-R1's experts 256 rows.
TEST(DefaultExperts, RunWhereNobodyTunedTheShape) {
  const auto experts_time = [](const Deployment& d) {
    Seconds time;
    for (const OperatorEstimate& op :
         RooflineStepTime(d).explain(prefill_batch(1, 8192)).operators) {
      if (op.work.name == "experts") time += op.time;
    }
    return time;
  };
  const Deployment d = deepseek_on("mi300x", "sglang-0.5.12");
  Deployment tuned = d;
  tuned.gpu.compute_capability = "gfx950";
  EXPECT_NEAR(experts_time(d) / experts_time(tuned), default_experts_ratio(256), 1e-6);
}

TEST(VersionSpreads, ApplyToTheirEngineOnTheirVendorsGpus) {
  EXPECT_DOUBLE_EQ(version_deviation(deepseek_on("mi300x", "sglang-0.5.9")), 0.16);
  EXPECT_DOUBLE_EQ(version_deviation(deepseek_on("mi355x", "sglang")), 0.16);
  EXPECT_EQ(version_deviation(deepseek_on("b200", "sglang-0.5.9")), 0);
  EXPECT_EQ(version_deviation(deepseek_on("b200", "trtllm-1.1")), 0);
  EXPECT_DOUBLE_EQ(version_deviation(deepseek_on("mi355x", "vllm-0.15")), 0.08);
  EXPECT_DOUBLE_EQ(version_deviation(deepseek_on("mi355x", "atom-0.1.1")), 0.08);
}

TEST(VersionSpreads, OfStepsThatVerifyDraftsCountThereAlone) {
  EXPECT_DOUBLE_EQ(version_deviation(with_drafts("b200", "sglang-0.5.9")), 0.31);
  EXPECT_DOUBLE_EQ(version_deviation(with_drafts("mi355x", "atom")), 0.08);
  EXPECT_DOUBLE_EQ(version_deviation(with_drafts("mi355x", "sglang-0.5.9")), 0.16);
  EXPECT_EQ(version_deviation(with_drafts("b200", "trtllm-1.1")), 0);
}

// MI300X's six versions are off by a root mean square of 0.138, MI355X's seven by 0.172.
TEST(VersionSpreads, OfBothChipsStandForAllVersionsOfSglang) {
  const double both = std::sqrt((6 * 0.138 * 0.138 + 7 * 0.172 * 0.172) / 13);
  EXPECT_NEAR(version_deviation(deepseek_on("mi300x", "sglang")), both, 0.005);
  for (const VersionSpread& row : version_spreads()) EXPECT_FALSE(row.source.empty());
}

// A version that is answered by another has the width of how far its engine's versions differ; one
// that has tables, or is between those that have, has none on NVIDIA's GPUs. The deviation of a
// uniform distribution of width ln(r) from its end is ln(r) / sqrt(3); ratios of 1.53 and 2.52 have
// 0.246 and 0.534, 0.416 together, near the 0.44 that all 15 settings have, and 1.99 has 0.397.
TEST(VersionSpreads, OfVersionsThatOthersAnswerForCountThereAlone) {
  const double mi300x = std::log(1.53) / std::sqrt(3);
  const double mi355x = std::log(2.52) / std::sqrt(3);
  const double both = std::hypot(mi300x, mi355x) / std::sqrt(2);
  EXPECT_NEAR(version_deviation(deepseek_on("mi300x", "sglang-0.6")), both, 0.03);
  EXPECT_NEAR(version_deviation(with_drafts("b200", "sglang-0.6")), std::log(1.99) / std::sqrt(3),
              0.03);
  EXPECT_DOUBLE_EQ(version_deviation(deepseek_on("h200", "sglang-0.6")), 0.14);
  EXPECT_DOUBLE_EQ(version_deviation(deepseek_on("b200", "sglang-nightly")), 0.14);
  EXPECT_DOUBLE_EQ(version_deviation(deepseek_on("b200", "trtllm-1.4")), 0.05);
  EXPECT_DOUBLE_EQ(version_deviation(with_drafts("b200", "trtllm-2")), 0.08);
  EXPECT_DOUBLE_EQ(version_deviation(with_drafts("mi355x", "atom-0.2")), 0.16);
  EXPECT_DOUBLE_EQ(version_deviation(with_drafts("mi355x", "vllm-9.9")), 0.16);
  for (const char* covered : {"sglang", "sglang-0.5", "sglang-0.5.16", "trtllm", "trtllm-1.3"}) {
    EXPECT_EQ(version_deviation(deepseek_on("h200", covered)), 0) << covered;
  }
  EXPECT_NEAR(std::hypot(0.09, 0.18) / std::sqrt(2), 0.14, 0.005);  // B200 and H200
}

TEST(VersionBasis, SaysWhichVersionTheTimesAreOf) {
  EXPECT_EQ(version_basis(deepseek_on("mi300x", "sglang-0.5.7")), VersionBasis::slower_kernels);
  EXPECT_EQ(version_basis(deepseek_on("mi300x", "sglang-0.5.2")), VersionBasis::slower_kernels);
  EXPECT_EQ(version_basis(deepseek_on("mi355x", "sglang-0.5.2")), VersionBasis::fastest);
  EXPECT_EQ(version_basis(deepseek_on("mi300x", "sglang")), VersionBasis::fastest);
  EXPECT_EQ(version_basis(deepseek_on("mi300x", "sglang-0.6")), VersionBasis::nearest);
  // The product is DeepSeek-V3's.
  EXPECT_EQ(version_basis(on_eight("llama-3.1-70b", "mi300x", "sglang-0.5.7")),
            VersionBasis::fastest);
}

// With the newest kernels only what the version's own cost is gone: the step is that of 0.5.12,
// which has the same host times.
TEST(NewestKernels, LeaveOutWhatTheVersionsOwnCost) {
  const auto time_of = [](const Deployment& d) {
    return RooflineStepTime(d).seconds(decode_batch(d.model, 4, 1000)).value;
  };
  const Deployment old = deepseek_on("mi300x", "sglang-0.5.7");
  const Deployment tuned = with_newest_kernels(old);
  EXPECT_DOUBLE_EQ(time_of(tuned), time_of(deepseek_on("mi300x", "sglang-0.5.12")));
  EXPECT_GT(time_of(old), 1.2 * time_of(tuned));
  EXPECT_EQ(tuned.engine.async_scheduling, old.engine.async_scheduling);
  EXPECT_EQ(with_newest_kernels(deepseek_on("b200", "trtllm-1.1")).engine.version, "trtllm-1.3");
  const Deployment built = on_eight("llama-3.1-70b", "h100", "trtllm-0.18");
  EXPECT_EQ(with_newest_kernels(built).engine.version, "trtllm-0.18");
  Deployment low_latency = deepseek_on("b200", "sglang");
  low_latency.engine.fp8_gemm_backend = Fp8GemmBackend::flashinfer_trtllm;
  EXPECT_EQ(with_newest_kernels(low_latency).engine.fp8_gemm_backend, Fp8GemmBackend::automatic);
}

// A step's kernels and host err by themselves, and the version beside them: their squares add up.
TEST(VersionSpreads, AreACauseOfAStepsErrorOfTheirOwn) {
  const Deployment d = deepseek_on("mi300x", "sglang-0.5.12");
  const StepEstimate step = RooflineStepTime(d).explain(decode_batch(d.model, 4, 1000));
  const std::vector<ErrorCause> causes = error_causes(step, d);
  double others = 0;
  for (const ErrorCause& cause : causes) {
    if (cause.name != kVersionCause) others += cause.deviation * cause.deviation;
  }
  ASSERT_EQ(std::ranges::count(causes, kVersionCause, &ErrorCause::name), 1);
  EXPECT_EQ(std::ranges::find(causes, kVersionCause, &ErrorCause::name)->common_to, "AMD sglang");
  EXPECT_NEAR(step.relative_uncertainty, std::sqrt(others + 0.16 * 0.16), 1e-12);
  const Deployment other = deepseek_on("b200", "sglang-0.5.12");
  const StepEstimate known = RooflineStepTime(other).explain(decode_batch(other.model, 4, 1000));
  EXPECT_EQ(std::ranges::count(error_causes(known, other), kVersionCause, &ErrorCause::name), 0);
}

// SGLang's servers of other mixtures of experts and of models with recurrent layers err together,
// model by model, and TensorRT-LLM's of such mixtures; those of DeepSeek-V3's shape and of dense
// models were compared.
TEST(ErrorCauses, ModelsWithoutServersErrByThemselves) {
  const auto deviation = [](const char* model, const char* gpu, const char* engine) {
    return model_deviation(on_eight(model, gpu, engine));
  };
  EXPECT_DOUBLE_EQ(deviation("qwen3-235b-a22b", "b200", "sglang"), 0.62);
  EXPECT_DOUBLE_EQ(deviation("kimi-k2", "h200", "sglang-0.5.9"), 0.62);
  EXPECT_DOUBLE_EQ(deviation("deepseek-v3.2", "b200", "sglang"), 0.62);
  EXPECT_DOUBLE_EQ(deviation("nemotron-h-56b", "h100", "sglang"), 0.62);
  EXPECT_EQ(deviation("deepseek-r1", "b200", "sglang"), 0);
  EXPECT_EQ(deviation("llama-3.1-8b", "b200", "sglang"), 0);
  EXPECT_DOUBLE_EQ(deviation("qwen3-235b-a22b", "mi300x", "sglang"), 0.62);
  // The means of six models' logarithms of measured over predicted rates.
  double squares = 0;
  for (const double mean : {-0.268, -0.030, -0.081, -0.148, -0.156, -0.026}) squares += mean * mean;
  EXPECT_NEAR(deviation("qwen3-235b-a22b", "b200", "trtllm"), std::sqrt(squares / 6), 0.01);
  EXPECT_EQ(deviation("deepseek-r1", "b200", "trtllm"), 0);
  EXPECT_EQ(deviation("nemotron-h-56b", "h100", "trtllm"), 0);
  EXPECT_EQ(deviation("qwen3-235b-a22b", "b200", "vllm"), 0);
  const Deployment d = on_eight("kimi-k2", "h200", "sglang");
  const StepEstimate step = RooflineStepTime(d).explain(decode_batch(d.model, 4, 1000));
  const std::vector<ErrorCause> causes = error_causes(step, d);
  const auto found = std::ranges::find(causes, kModelCause, &ErrorCause::name);
  ASSERT_NE(found, causes.end());
  EXPECT_EQ(found->common_to, "sglang kimi-k2");
  EXPECT_GT(step.relative_uncertainty, 0.62);
}

// Products of 1 s with AITER's efficiency and experts of 3 s: 0.07 x 1/4 + 0.16 x 3/4 = 0.1375 that
// they have in common on AMD's GPUs, nothing on others, whose curves have servers behind them.
TEST(ErrorCauses, EfficienciesOfOneCollectionErrTogether) {
  const auto of_family = [](OperatorFamily family, double seconds) {
    OperatorEstimate op;
    op.work.family = family;
    op.time = Seconds{seconds};
    op.provenance = Provenance::fitted;
    return op;
  };
  const StepEstimate step{
      .total = Seconds{4},
      .operators = {of_family(OperatorFamily::gemm, 1), of_family(OperatorFamily::moe, 3)}};
  const auto together = [&](const Deployment& deployment) {
    for (const ErrorCause& cause : error_causes(step, deployment)) {
      if (cause.name == "kernel tables") return cause.deviation;
    }
    return 0.0;
  };
  EXPECT_NEAR(together(deepseek_on("mi300x", "vllm-0.19")), 0.1375, 1e-12);
  EXPECT_EQ(together(deepseek_on("h200", "vllm-0.19")), 0);
}

// TensorRT-LLM's tables have 0.8 of that: 0.056 x 1/4 + 0.128 x 3/4 = 0.11.
TEST(ErrorCauses, TablesErrTogetherByEngine) {
  const auto together = [](const char* source) {
    StepEstimate step{.total = Seconds{4}};
    for (const auto& [family, seconds] :
         {std::pair(OperatorFamily::gemm, 1.0), std::pair(OperatorFamily::moe, 3.0)}) {
      OperatorEstimate op;
      op.work.family = family;
      op.time = Seconds{seconds};
      op.source = source;
      step.operators.push_back(op);
    }
    const std::vector<ErrorCause> causes = error_causes(step);
    const auto found = std::ranges::find(causes, "kernel tables", &ErrorCause::name);
    return found == causes.end() ? 0.0 : found->deviation;
  };
  EXPECT_NEAR(together("SGLang 0.5.14"), 0.1375, 1e-12);
  EXPECT_NEAR(together("TRTLLM 1.3.0rc10"), 0.11, 1e-12);
  EXPECT_EQ(together(""), 0);
}

}  // namespace
}  // namespace roofcast

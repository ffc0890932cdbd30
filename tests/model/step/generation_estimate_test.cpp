#include "model/step/generation_estimate.hpp"

#include <gtest/gtest.h>

#include "model/cache/kv_cache.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using test::deployment_of;
using test::round_gpu;

// Llama-3.1-8B: 32 layers of 218,103,808 matrix weights, and the LM head.
constexpr double kMatricesOfLlama3 = 32.0 * 218103808.0;
constexpr double kHeadOfLlama3 = 128256.0 * 4096.0;

Deployment llama_on_round_gpu() { return deployment_of(test::llama_3_1_8b(), round_gpu()); }

TEST(GenerationEstimate, PromptsFillTheTokenBudgetInOrder) {
  // 3 prompts of 1000 under a budget of 2048: 1000 + 1000 + 48, then 952 of the third.
  const Deployment d = llama_on_round_gpu();
  const RooflineStepTime step_time(d);
  StepBatch first = prefill_batch(2, 1000);
  first.prefills.push_back({.new_tokens = 48, .context_tokens = 0, .emits_token = false});
  StepBatch second;
  second.prefills = {{.new_tokens = 952, .context_tokens = 48, .emits_token = true}};
  const Seconds expected = step_time.seconds(first) + step_time.seconds(second);
  EXPECT_DOUBLE_EQ(estimate_generation(d, 3, 1000, 10).prefill_time.value, expected.value);
}

TEST(GenerationEstimate, WithoutChunkingPromptsStayWhole) {
  Deployment d = llama_on_round_gpu();
  d.engine.chunked_prefill = false;
  const RooflineStepTime step_time(d);
  const Seconds expected =
      step_time.seconds(prefill_batch(2, 1000)) + step_time.seconds(prefill_batch(1, 1000));
  EXPECT_DOUBLE_EQ(estimate_generation(d, 3, 1000, 10).prefill_time.value, expected.value);
}

TEST(GenerationEstimate, APromptBeyondTheBudgetRunsAloneWithoutChunking) {
  Deployment d = llama_on_round_gpu();
  d.engine.chunked_prefill = false;
  const RooflineStepTime step_time(d);
  EXPECT_DOUBLE_EQ(estimate_generation(d, 1, 5000, 10).prefill_time.value,
                   step_time.seconds(prefill_batch(1, 5000)).value);
}

TEST(GenerationEstimate, DecodeStepIsTheMeanOverTheGeneration) {
  const Deployment d = llama_on_round_gpu();
  const RooflineStepTime step_time(d);
  Seconds sum;
  for (std::int64_t i = 0; i < 9; ++i) sum += step_time.seconds(decode_batch(d.model, 4, 500 + i));
  const GenerationEstimate estimate = estimate_generation(d, 4, 500, 10);
  EXPECT_DOUBLE_EQ(estimate.decode_step.value, sum.value / 9);
  EXPECT_DOUBLE_EQ(estimate.decode_tokens_per_second, 4 / estimate.decode_step.value);
  EXPECT_DOUBLE_EQ(estimate.output_tokens_per_second,
                   40 / (estimate.prefill_time.value + sum.value));
}

TEST(GenerationEstimate, OneOutputTokenNeedsNoDecodeStep) {
  const GenerationEstimate estimate = estimate_generation(llama_on_round_gpu(), 4, 500, 1);
  EXPECT_DOUBLE_EQ(estimate.output_tokens_per_second, 4 / estimate.prefill_time.value);
  EXPECT_GT(estimate.decode_step.value, 0);
}

TEST(GenerationEstimate, MfuIsModelFlopsOverTimeAndPeak) {
  // 2 prompts of 500: matrices for 1000 tokens, LM head for 2, causal attention.
  const GenerationEstimate estimate = estimate_generation(llama_on_round_gpu(), 2, 500, 10);
  const double flops = 2 * 1000 * kMatricesOfLlama3 + 2 * 2 * kHeadOfLlama3 +
                       2 * 32 * 4.0 * 32 * 128 * (500.0 * 501 / 2);
  EXPECT_NEAR(estimate.mfu_prefill, flops / 100e12 / estimate.prefill_time.value, 1e-9);
  EXPECT_LT(estimate.mfu_prefill, 1.0);
}

TEST(GenerationEstimate, MbuIsWeightsAndCacheOverTimeAndBandwidth) {
  // The middle of 11 tokens after 500: five decode steps on, 505 cached tokens and the new one.
  const GenerationEstimate estimate = estimate_generation(llama_on_round_gpu(), 2, 500, 11);
  const double bytes = 2 * (kMatricesOfLlama3 + kHeadOfLlama3) + 2 * 506 * 131072.0;
  EXPECT_NEAR(estimate.mbu_decode, bytes / 1e12 / estimate.decode.total.value, 1e-9);
  EXPECT_LT(estimate.mbu_decode, 1.0);
}

TEST(GenerationEstimate, BatchAtWhichMatricesTurnComputeBound) {
  // FLOPs 2 P M reach ridge times the bytes 2 P + A M at M = 2 P / (2 P / ridge - A), with
  // P = 7,504,658,432 weights and A the activations in and out: 2 bytes * (69,632 elements * 32
  // layers + 132,352 at the LM head) = 4,721,152 bytes a token. An A100 of 312 TFLOP/s and 2,039
  // GB/s: ridge 153.02, 15,009,316,864 / (98,089,748 - 4,721,152) = 160.75.
  Deployment d = llama_on_round_gpu();
  d.gpu.dense_peak[DType::bf16] = FlopsPerSecond{312e12};
  d.gpu.memory_bandwidth = BytesPerSecond{2039e9};
  const GenerationEstimate estimate = estimate_generation(d, 1, 100, 2);
  EXPECT_NEAR(estimate.ridge.value, 153.02, 0.005);
  ASSERT_TRUE(estimate.compute_bound.products.has_value());
  EXPECT_EQ(*estimate.compute_bound.products, 161);
}

TEST(GenerationEstimate, AnUnreachableRidgeHasNoComputeBoundBatch) {
  Deployment d = llama_on_round_gpu();
  d.gpu.dense_peak[DType::bf16] = FlopsPerSecond{1e18};  // ridge of 10^6 FLOP per byte
  EXPECT_FALSE(estimate_generation(d, 1, 100, 2).compute_bound.products.has_value());
}

TEST(GenerationEstimate, DataParallelRanksShareTheBatch) {
  const Deployment one = llama_on_round_gpu();
  const Deployment two = deployment_of(test::llama_3_1_8b(), round_gpu(), {.data = 2});
  const GenerationEstimate half = estimate_generation(one, 8, 300, 5);
  const GenerationEstimate whole = estimate_generation(two, 16, 300, 5);
  EXPECT_DOUBLE_EQ(whole.decode_step.value, half.decode_step.value);
  EXPECT_DOUBLE_EQ(whole.output_tokens_per_second, 2 * half.output_tokens_per_second);
}

// A batch on each of 4 stages: the slowest, with the LM head, sets the pace.
TEST(GenerationEstimate, PipelineStagesWorkOnABatchEach) {
  const Deployment d = deployment_of(test::llama_3_1_8b(), round_gpu(), {.pipeline = 4});
  EXPECT_FALSE(estimate_generation(llama_on_round_gpu(), 16, 1000, 11).pipeline);
  const GenerationEstimate estimate = estimate_generation(d, 16, 1000, 11);
  ASSERT_TRUE(estimate.pipeline);
  StagedTime time;
  RooflineStepTime(d).divide(decode_batch(d.model, 16, 1005), time);
  EXPECT_DOUBLE_EQ(estimate.pipeline->token.value, 4 * time.stages.back().value);
  EXPECT_GT(estimate.pipeline->token, estimate.decode.total);
  EXPECT_DOUBLE_EQ(estimate.pipeline->tokens_per_second, 16 / time.stages.back().value);
}

TEST(GenerationEstimate, NarrowerWeightsHelpDecodeAndFreeMemory) {
  const Deployment bf16 = llama_on_round_gpu();
  Deployment int4 = bf16;
  const WeightFormat awq{.name = "awq", .bits_per_weight = 4.16, .compute = DType::bf16};
  for (Layer& layer : int4.model.layers) {
    layer.mixer_format = awq;
    layer.ffn_format = awq;
  }
  Deployment fp8_cache = bf16;
  fp8_cache.engine.kv_cache_dtype = DType::fp8;
  const std::vector<DTypeVariant> rows = compare_dtypes({bf16, int4, fp8_cache}, 4, 500, 12);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].weight_format, "bf16");
  EXPECT_EQ(rows[1].weight_format, "awq");
  EXPECT_DOUBLE_EQ(rows[0].memory_delta.value, 0.0);
  // Matrices of the layers shrink from 16 to 4.16 bits.
  EXPECT_NEAR(rows[1].memory_delta.value, -kMatricesOfLlama3 * (16 - 4.16) / 8, 1.0);
  EXPECT_LT(rows[1].estimate.decode_step, rows[0].estimate.decode_step);
  // Four sequences of 512 tokens at 131,072 bytes; fp8 halves them.
  EXPECT_DOUBLE_EQ(rows[2].memory_delta.value, -4 * 512 * 65536.0);
}

}  // namespace
}  // namespace roofcast

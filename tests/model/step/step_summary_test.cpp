#include "model/step/step_summary.hpp"

#include <gtest/gtest.h>

#include "model/step/generation_estimate.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using test::deployment_of;
using test::round_gpu;

// LLaMA-2-7B, matrices of a layer: 4096 x 12288 + 4096 x 4096 + 3 x 4096 x 11008 = 202,375,168; of
// 32 layers and the LM head of 4096 x 32000: P = 6,607,077,376.
constexpr double kHead = 4096.0 * 32000;
constexpr double kMatrices = 32.0 * 202375168;
constexpr double kWeights = kMatrices + kHead;

// Inputs and outputs of these matrices, 2 bytes each, of a token:
// 2 x (16,384 + 8,192 + 26,112 + 15,104) x 32 + 2 x 36,096 at the LM head.
constexpr double kActivations = 2.0 * 65792 * 32 + 2.0 * 36096;

/// 312 TFLOP/s and 2,039 GB/s: 153.02 FLOP/byte (NVIDIA A100 datasheet).
Gpu a100(double bandwidth = 2039e9) {
  Gpu gpu = round_gpu();
  gpu.dense_peak[DType::bf16] = FlopsPerSecond{312e12};
  gpu.memory_bandwidth = BytesPerSecond{bandwidth};
  return gpu;
}

Deployment llama_2_7b() {
  return deployment_of(test::llama_like({.name = "llama-2-7b",
                                         .layers = 32,
                                         .hidden = 4096,
                                         .intermediate = 11008,
                                         .query_heads = 32,
                                         .kv_heads = 32,
                                         .head_dim = 128,
                                         .vocabulary = 32000,
                                         .max_context = 4096}),
                       a100());
}

StepSummary decode_summary(const Deployment& d, std::int64_t batch, std::int64_t context) {
  return summary_of(RooflineStepTime(d).explain(decode_batch(d.model, batch, context)), d.gpu);
}

StepSummary prefill_summary(const Deployment& d, std::int64_t batch, std::int64_t tokens) {
  return summary_of(RooflineStepTime(d).explain(prefill_batch(batch, tokens)), d.gpu);
}

// 2 B FLOPs for every weight of 2 bytes: B FLOP/byte, less what the activations add to the bytes.
TEST(StepSummary, ProductsHaveAnIntensityOfAboutTheBatch) {
  const Deployment d = llama_2_7b();
  for (const double batch : {1.0, 8.0, 32.0, 128.0}) {
    const StepPart products = decode_summary(d, static_cast<std::int64_t>(batch), 1000).products;
    EXPECT_DOUBLE_EQ(products.flops.value, 2 * batch * kWeights);
    EXPECT_DOUBLE_EQ(products.bytes.value, 2 * kWeights + batch * kActivations);
    EXPECT_NEAR(products.intensity()->value, batch, 0.05 * batch);
  }
}

// Every head has its own keys and values: an attended token takes 4 x 128 FLOPs and 4 x 128 bytes a
// head. Queries and outputs are as many bytes as one attended token: 1024 / 1025 FLOP/byte,
// whatever the batch.
TEST(StepSummary, AttentionHasOneFlopAByteAtAnyBatch) {
  const Deployment d = llama_2_7b();
  for (const std::int64_t batch : {1, 64}) {
    const StepPart attention = decode_summary(d, batch, 1023).attention;
    EXPECT_NEAR(attention.intensity()->value, 1024.0 / 1025, 1e-9);
    EXPECT_FALSE(attention.is_compute_bound());
  }
}

// A prompt of M tokens. FLOPs: 2 M of every matrix but the LM head, 2 of that, and causal attention
// of 16,384 x 32 for each of M (M + 1) / 2 pairs. Bytes: all weights, and of each token and layer
// 131,584 at the matrices, 2 norms of 32,768 (residual and input in, residual and output out),
// 66,048 at the activation, 32,768 each of RoPE, KV write and attention.
//   M = 512: 6.70 TFLOP over 19.1 GB: 350 FLOP/byte. M = 32: 0.415 TFLOP over 13.6 GB: 31.
TEST(StepSummary, PrefillOfAShortPromptIsMemoryBound) {
  const Deployment d = llama_2_7b();
  const StepPart medium = prefill_summary(d, 1, 512).whole;
  EXPECT_NEAR(medium.flops.value, 2 * 512 * kMatrices + 2 * kHead + 16384.0 * 32 * (512 * 513 / 2),
              1.0);
  const double token = 32.0 * (131584 + 2 * 32768 + 66048 + 3 * 32768);
  EXPECT_NEAR(medium.bytes.value, 2 * kWeights + 512 * token, 0.002 * medium.bytes.value);
  EXPECT_NEAR(medium.intensity()->value, 350, 1);
  EXPECT_TRUE(medium.is_compute_bound());
  const StepPart small = prefill_summary(d, 1, 32).whole;
  EXPECT_NEAR(small.intensity()->value, 30.6, 0.1);
  EXPECT_FALSE(small.is_compute_bound());
}

// The well-known rule: 70 B weights of 2 bytes at 2 TB/s take 70 ms a token, in which 140 GFLOP of
// 312 TFLOP/s are 0.6 %. LLaMA-2-70B computes with 68.7 B of its weights (the input embedding is
// looked up): 80 x 855,638,016 + 8192 x 32000.
TEST(StepSummary, ATokenTakesAtLeastTheTimeToReadTheWeights) {
  const Deployment d = deployment_of(test::llama_2_70b(), a100(2e12));
  const StepSummary summary = decode_summary(d, 1, 0);
  EXPECT_NEAR(summary.lower_bound.value, 2 * (80.0 * 855638016 + 8192.0 * 32000) / 2e12, 1e-5);
  EXPECT_NEAR(summary.lower_bound.value, 70e-3, 0.02 * 70e-3);
  EXPECT_NEAR(1 - summary.needed_compute / summary.lower_bound, 0.994, 5e-4);
  EXPECT_LE(summary.lower_bound, summary.whole.time);
  EXPECT_EQ(summary.binding, StepLimit::memory);
}

TEST(StepSummary, PartsAddUpToNoMoreThanTheWhole) {
  const Deployment d = deployment_of(test::llama_3_1_8b(), round_gpu(), {.tensor = 2});
  const StepSummary summary = decode_summary(d, 16, 500);
  EXPECT_LT(summary.products.time + summary.attention.time, summary.whole.time);
  EXPECT_LT(summary.products.bytes + summary.attention.bytes, summary.whole.bytes);
  EXPECT_EQ(summary.products.flops + summary.attention.flops, summary.whole.flops);
  EXPECT_GT(summary.binding_share, 0);
  EXPECT_LE(summary.binding_share, 1);
}

// Products: B / (1 + B A / 2 P) reaches 153.02 FLOP/byte at 161.0009 sequences. Attention stays at
// 1. With 1,024 tokens each sequence moves 537 MB of KV cache for 13.8 GFLOP: the step never has
// more than 26 FLOP/byte. With 64 tokens it has up to 13.2 GFLOP over 33.6 MB and the activations.
TEST(ComputeBoundBatches, TheStepMayNeverCrossWhereItsProductsDo) {
  const Deployment d = llama_2_7b();
  const ComputeBoundBatches at_1k = compute_bound_batches(d, 1023);
  EXPECT_EQ(at_1k.products, 162);
  EXPECT_FALSE(at_1k.attention);
  EXPECT_FALSE(at_1k.step);
  const ComputeBoundBatches at_64 = compute_bound_batches(d, 63);
  EXPECT_EQ(at_64.products, 162);
  ASSERT_TRUE(at_64.step);
  EXPECT_GT(*at_64.step, 162);
}

// Two ranks share the batch, rounded up: the first batch that gives one of them 162 is 323.
TEST(ComputeBoundBatches, CountAllDataParallelRanks) {
  Deployment d = llama_2_7b();
  d.parallel.data = 2;
  EXPECT_EQ(compute_bound_batches(d, 1023).products, 2 * 161 + 1);
}

// Latent attention reads one latent for 128 heads: 2 x 128 x (2 x 512 + 64) FLOPs over 576 x 2
// bytes are 241.8 FLOP/byte, above this GPU's 100.
TEST(ComputeBoundBatches, LatentAttentionIsComputeBoundFromTheFirst) {
  const Deployment d = deployment_of(test::deepseek_v3(), round_gpu());
  EXPECT_EQ(compute_bound_batches(d, 4096).attention, 1);
}

}  // namespace
}  // namespace roofcast

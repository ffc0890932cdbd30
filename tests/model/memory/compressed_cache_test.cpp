// DeepSeek-V4's caches as engines lay them out: compressed entries, windows and the states of the
// compressors, compared with what start-ups printed.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/quantity.hpp"
#include "model/io/model_reader.hpp"
#include "model/memory/activation_peak.hpp"
#include "model/memory/memory_plan.hpp"
#include "tests/model/deployments.hpp"

namespace roofcast {
namespace {

Deployment flash_on(const char* engine, EngineOverrides overrides) {
  overrides.kv_cache_dtype = DType::fp8;
  return test::deploy(load_model("deepseek-v4-flash"), test::gpu_of("gpu", 94), engine, overrides,
                      {.tensor = 2});
}

// vllm-project/vllm issue 44376 (0.22, 16,384 tokens a step): "6.66 GiB KV cache is needed" for
// 30,000 tokens, and 13,528 are the most that fit into 5.44 GiB. By hand: 118 blocks of 256 tokens,
// two groups of windows of 259 of 64, 4,099 of 4 and 2,065 of 8 tokens for the compressors, each
// of 22 x (37,440 + 8,640 + 1,728) bytes.
TEST(CompressedCache, ReservesTheTokensOfAStepInWindowsAndStates) {
  const auto needed = [](std::int64_t tokens) {
    const Deployment deployment =
        flash_on("vllm-0.22", {.max_model_len = tokens, .max_num_batched_tokens = 16384});
    return sequence_bytes(deployment, plan_memory(deployment), tokens).value;
  };
  EXPECT_EQ(needed(30'000), (118 + 2 * 259 + 4099 + 2065) * 22.0 * 47'808);
  EXPECT_NEAR(needed(30'000) / kGiB, 6.66, 0.005);
  EXPECT_NEAR(needed(13'528) / kGiB, 5.44, 0.005);
}

// Bytes sent of a block: 21 x (37,440 + 8,640) + 20 x 1,728 bytes of the compressed caches are 21
// pages of 47,808.
TEST(CompressedCache, CountsPagesThatHoldSomething) {
  const Deployment deployment = flash_on("vllm-0.22", {});
  EXPECT_EQ(plan_memory(deployment).layout.groups.front().layers, 21);
}

// vllm-project/vllm issue 51041 (0.26.0, 8,192 tokens a step, two of which may be in flight): 7.7
// GiB hold 1.24 sequences of 121,344 tokens by the log.
TEST(CompressedCache, IsPrintedByTheBytesOfEachGroup) {
  const Deployment deployment = flash_on("vllm-0.26", {.max_model_len = 121'344,
                                                       .max_num_seqs = 32,
                                                       .max_num_batched_tokens = 8192,
                                                       .kv_cache_memory = Bytes{7.7 * kGiB}});
  EXPECT_NEAR(plan_memory(deployment).max_concurrency, 1.24, 0.01);
}

// A GB300 start of 0.21 with DeepSeek-V4-Pro: 40.47 GiB, 4.230092 sequences of a million tokens:
// 29,323 blocks over 6,932.
TEST(CompressedCache, OfProIsPrintedInFull) {
  const Deployment deployment =
      test::deploy(load_model("deepseek-v4-pro"), test::gpu_of("gpu", 280), "vllm-0.21",
                   {.max_model_len = 1'000'000,
                    .max_num_seqs = 16,
                    .max_num_batched_tokens = 8192,
                    .num_gpu_blocks_override = 29'323,
                    .kv_cache_dtype = DType::fp8},
                   {.tensor = 4});
  const MemoryPlan plan = plan_memory(deployment);
  EXPECT_EQ(plan.kv_tokens, 4'230'092);
  EXPECT_NEAR(plan.layout.row_bytes().value * 29'323 / kGiB, 40.47, 0.005);
}

// vllm-project/vllm issue 51454 (0.25.0, DeepSeek-V4-Flash on eight B200): 20.43 sequences of
// 1,048,576 tokens with TP 8 and 156.9 over eight data-parallel ranks, 7.68 times as many.
TEST(CompressedCache, OfDataParallelRanksIsThatOfEach) {
  Gpu b200 = test::gpu_of("nvidia-b200-sxm", 178.35);
  b200.compute_capability = "10.0";
  b200.architecture = "blackwell";
  const auto sequences = [&](const Parallelism& parallel) {
    const Deployment deployment = test::deploy(load_model("deepseek-v4-flash"), b200, "vllm-0.25",
                                               {.gpu_memory_utilization = 0.95,
                                                .max_model_len = 1'048'576,
                                                .max_num_seqs = 256,
                                                .max_num_batched_tokens = 8192,
                                                .block_size = 256,
                                                .kv_cache_dtype = DType::fp8},
                                               parallel);
    return plan_memory(deployment).max_concurrency * parallel.data;
  };
  EXPECT_NEAR(sequences({.tensor = 8, .expert_parallel = true}) / 20.43, 1, 0.03);
  EXPECT_NEAR(sequences({.data = 8, .expert_parallel = true}) / 156.9, 1, 0.03);
}

// Prompts of a million tokens: the indexer gathers 40 x 250,000 keys of 132 bytes; entries, window
// and new tokens of four prompts, 4 x (250,000 + 128 + 8,192) x 512 x 2 bytes, are fewer. cos and
// sin of 1,048,576 positions x 64 in fp32 stand in two tables.
TEST(CompressedCache, IsGatheredForPrompts) {
  const Deployment deployment =
      test::deploy(load_model("deepseek-v4-pro"), test::gpu_of("gpu", 280), "vllm-0.21",
                   {.max_model_len = 1'000'000, .max_num_seqs = 16, .kv_cache_dtype = DType::fp8},
                   {.tensor = 4});
  EXPECT_EQ(activation_shape(deployment.model, deployment.engine, deployment.parallel)
                .gathered_keys.value,
            40.0 * 250'000 * 132);
  const MemoryPlan plan = plan_memory(deployment);
  const auto table = std::ranges::find(plan.terms, "weights.rotary_table", &MemoryTerm::name);
  ASSERT_NE(table, plan.terms.end());
  EXPECT_EQ(table->bytes.value, kGiB / 2);
}

// Engines without such a layout count what a sequence holds, in blocks of their own size.
TEST(CompressedCache, OfOtherEnginesIsCountedByTokens) {
  for (const char* engine : {"trtllm", "textbook", "roofcast"}) {
    const Deployment deployment = test::deploy(
        load_model("deepseek-v4-flash"), test::gpu_of("gpu", 139.8), engine, {}, {.tensor = 4});
    const MemoryPlan plan = plan_memory(deployment);
    EXPECT_TRUE(plan.fits) << engine;
    EXPECT_GT(plan.layout.row_bytes().value, 0) << engine;
    EXPECT_LT(plan.max_batch, 10'000) << engine;
  }
}

// SGLang 0.5.15: a token of Flash takes 584 x (21 / 4 + 20 / 128) + 132 x 21 / 4 bytes compressed,
// and a tenth of 584 x 43 in windows and of rings of 8 states a page of 128, 4 x (512 + 128) x 4
// bytes in 21 layers.
TEST(CompressedCache, OfSglangIsAPoolOfTokens) {
  const Deployment deployment = flash_on("sglang", {});
  const double token = 584 * (21 / 4.0 + 20 / 128.0) + 132 * 21 / 4.0 +
                       0.1 * (584 * 43 + 8 / 128.0 * 21 * 4 * 640 * 4);
  const MemoryPlan plan = plan_memory(deployment);
  EXPECT_EQ(plan.layout.block_tokens, 256);
  EXPECT_NEAR(plan.layout.row_bytes().value, 256 * token, 1e-6 * token);
}

}  // namespace
}  // namespace roofcast

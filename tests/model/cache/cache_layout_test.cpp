#include <gtest/gtest.h>

#include "model/cache/kv_cache.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kLongest = 262'144;
constexpr std::int64_t kInFlight = 8192;

CacheLayout layout_of(const Transformer& model, const Parallelism& parallel = {}) {
  return cache_layout(model, DType::bf16, parallel, 16);
}

/// The layout of a model with recurrent layers and prefix caching.
CacheLayout aligned_layout_of(const Transformer& model) {
  return cache_layout(model, DType::bf16, {}, 16, {.state_rows = 2});
}

TEST(CacheLayout, AUniformModelIsOneGroup) {
  const CacheLayout layout = layout_of(test::llama_3_1_8b());
  ASSERT_EQ(layout.groups.size(), 1U);
  EXPECT_EQ(layout.layers_per_row, 32);
  EXPECT_EQ(layout.block_tokens, 16);
  EXPECT_DOUBLE_EQ(layout.page.value, 16 * 4096);  // 2 * 8 * 128 * 2 bytes a token
  EXPECT_DOUBLE_EQ(layout.row_bytes().value, 16 * 131'072);
  EXPECT_EQ(rows_per_sequence(layout, 4096, kInFlight), 256);
  EXPECT_EQ(rows_per_sequence(layout, 4097, kInFlight), 257);
}

TEST(CacheLayout, VllmsTeachingExampleHas1024Blocks) {
  // 32 layers, 32 KV heads of 128 in 16 bits: page 2 * 16 * 32 * 128 * 2 = 262,144 bytes;
  // 8 GiB / 262,144 / 32 = 1024 blocks of 16 tokens.
  const Transformer model = test::llama_like({.name = "teaching example",
                                              .layers = 32,
                                              .hidden = 4096,
                                              .intermediate = 11008,
                                              .query_heads = 32,
                                              .kv_heads = 32,
                                              .head_dim = 128,
                                              .vocabulary = 32000});
  const CacheLayout layout = layout_of(model);
  EXPECT_DOUBLE_EQ(layout.page.value, 262'144);
  EXPECT_DOUBLE_EQ(Bytes{8 * kGiB} / layout.row_bytes(), 1024);
}

// The three hybrids below: known answers computed with vLLM 0.29 for one sequence of 262,144
// tokens, bf16 cache and fp32 state, two rows per state group.
TEST(CacheLayout, Qwen36HybridMatchesVllmToTheByte) {
  // State (24,576 * 2 + 524,288 * 4) = 2,146,304 bytes; attention 2048 bytes a token: 1048 tokens,
  // rounded up to 1056. Groups of 10: one full, three of states: ceil(262144 / 1056) + 3 * 2.
  const CacheLayout layout = aligned_layout_of(test::qwen3_6_35b_a3b());
  EXPECT_EQ(layout.block_tokens, 1056);
  EXPECT_DOUBLE_EQ(layout.page.value, 2'162'688);
  EXPECT_EQ(layout.layers_per_row, 10);
  EXPECT_EQ(layout.groups.size(), 4U);
  const std::int64_t rows = rows_per_sequence(layout, kLongest, kInFlight);
  EXPECT_EQ(rows, 249 + 3 * 2);
  EXPECT_DOUBLE_EQ(static_cast<double>(rows) * layout.row_bytes().value, 5'514'854'400);
}

TEST(CacheLayout, NemotronHybridMatchesVllmToTheByte) {
  // State (18,432 * 2 + 524,288 * 4) = 2,134,016 bytes over 1024 a token: 2084, rounded to 2096.
  // Groups of 6: one full, four of the 23 states (one place is padding).
  const CacheLayout layout = aligned_layout_of(test::nemotron_3_nano());
  EXPECT_EQ(layout.block_tokens, 2096);
  EXPECT_DOUBLE_EQ(layout.page.value, 2'146'304);
  EXPECT_EQ(layout.layers_per_row, 6);
  const std::int64_t rows = rows_per_sequence(layout, kLongest, kInFlight);
  EXPECT_EQ(rows, 126 + 4 * 2);
  EXPECT_DOUBLE_EQ(static_cast<double>(rows) * layout.row_bytes().value, 1'725'628'416);
}

TEST(CacheLayout, Qwen27bHybridMatchesVllmToTheByte) {
  // State (30,720 * 2 + 786,432 * 4) = 3,207,168 bytes over 4096 a token: 783, rounded to 784.
  const CacheLayout layout = aligned_layout_of(test::qwen3_27b_hybrid());
  EXPECT_EQ(layout.block_tokens, 784);
  EXPECT_DOUBLE_EQ(layout.page.value, 3'211'264);
  EXPECT_EQ(layout.layers_per_row, 16);
  const std::int64_t rows = rows_per_sequence(layout, kLongest, kInFlight);
  EXPECT_EQ(rows, 335 + 3 * 2);
  EXPECT_DOUBLE_EQ(static_cast<double>(rows) * layout.row_bytes().value, 17'520'656'384);
}

TEST(CacheLayout, WithoutPrefixCachingEachStateGroupHasOneRow) {
  EXPECT_EQ(rows_per_sequence(layout_of(test::qwen3_27b_hybrid()), kLongest, kInFlight), 335 + 3);
}

// SGLang 0.5.15, HybridSWAPoolConfigurator: bytes per token = 10 full layers and 0.8 of 52 with
// windows, each 2 * 16 * 128 * 2 bytes; kept whole they are 62.
TEST(CacheLayout, APoolOfTokensCountsTheShareOfLayersWithWindows) {
  const auto token = [](double share) {
    return cache_layout(test::gemma_3_27b(), DType::bf16, {}, 1, {.window_share = share});
  };
  EXPECT_NEAR(token(0.8).row_bytes().value, (10 + 0.8 * 52) * 8192, 1e-6);
  EXPECT_NEAR(token(1.0).row_bytes().value, 62 * 8192, 1e-6);
  EXPECT_EQ(rows_per_sequence(token(0.8), 32'000, kInFlight), 32'000);
}

TEST(CacheLayout, APoolOfTokensHoldsNoStates) {
  const CacheLayout layout =
      cache_layout(test::qwen3_27b_hybrid(), DType::bf16, {}, 1, {.window_share = 1.0});
  ASSERT_EQ(layout.groups.size(), 1U);
  EXPECT_EQ(layout.layers_per_row, 16);
  EXPECT_DOUBLE_EQ(layout.row_bytes().value, 16 * 4096);
}

TEST(CacheLayout, Gemma3HasOneFullAndSixWindowGroups) {
  // 10 full and 52 windowed layers: groups of 10, the last window group with 2 layers.
  const CacheLayout layout = layout_of(test::gemma_3_27b());
  EXPECT_EQ(layout.layers_per_row, 10);
  ASSERT_EQ(layout.groups.size(), 7U);
  std::int64_t layers = 0;
  for (const CacheGroup& group : layout.groups) layers += group.layers;
  EXPECT_EQ(layers, 62);
  // A vLLM 0.19 log (llm-d-planner, H100, max_model_len 8192): 15,997 blocks, concurrency 4.46.
  // Full: 512 rows; each window min(1023 + 8192, 8192) / 16 + 1 = 513.
  const std::int64_t rows = reserved_rows_per_sequence(layout, 8192, 8192);
  EXPECT_EQ(rows, 512 + 6 * 513);
  EXPECT_NEAR(15'997.0 / static_cast<double>(rows), 4.46, 0.005);
  // Long sequences: the windows are capped, ceil((1023 + 2048) / 16) + 1 = 193.
  EXPECT_EQ(rows_per_sequence(layout, 100'000, 2048), 6250 + 6 * 193);
}

TEST(CacheLayout, AShortSequenceHoldsNoMoreBlocksThanItsTokensFill) {
  // 100 tokens are 7 blocks of 16 in each of the 7 groups; reserved are 8 in the 6 window groups.
  const CacheLayout layout = layout_of(test::gemma_3_27b());
  EXPECT_EQ(rows_per_sequence(layout, 100, 8192), 7 * 7);
  EXPECT_EQ(reserved_rows_per_sequence(layout, 100, 8192), 7 + 6 * 8);
  // At 1034 tokens, one in flight, a window of 1024 may touch ceil(1024 / 16) + 1 = 65 blocks, as
  // many as the tokens fill; from there on holding and reservation agree.
  EXPECT_EQ(rows_per_sequence(layout, 1034, 1), 65 + 6 * 65);
  EXPECT_EQ(rows_per_sequence(layout, 5000, 1), reserved_rows_per_sequence(layout, 5000, 1));
}

TEST(CacheLayout, ChunkedGroupsReserveTheChunkAndTheStep) {
  // Llama-4 Scout: 12 full and 36 chunked layers. A vLLM 0.19 log (llm-d-planner, four H100,
  // max_model_len 8192): 91,495 blocks, concurrency 44.68.
  const CacheLayout layout = layout_of(test::llama_4_scout());
  EXPECT_EQ(layout.layers_per_row, 12);
  ASSERT_EQ(layout.groups.size(), 4U);
  EXPECT_EQ(reserved_rows_per_sequence(layout, 8192, 8192), 4 * 512);
  EXPECT_NEAR(91'495.0 / (4 * 512), 44.68, 0.005);
  // ceil((8192 + 2048) / 16) = 640 in each chunked group.
  EXPECT_EQ(rows_per_sequence(layout, 100'000, 2048), 6250 + 3 * 640);
}

TEST(CacheLayout, ChunkedLayersMayShareTheGroupOfTheOthers) {
  // vLLM 0.15.1 printed 8,253 blocks for Llama-4-Scout with fp8 experts on two H100: 4 heads of 128
  // a rank, 16 tokens, 48 layers of 2 * 4 * 128 * 2 B * 16 = 32,768 B, 13.0 GB. Groups would divide
  // 12 layers at a time, and leave 9.7 GB unused.
  const CacheLayout layout = cache_layout(test::llama_4_scout(), DType::bf16, {.tensor = 2}, 16,
                                          {.chunked = ChunkedLayers::as_full});
  EXPECT_EQ(layout.groups.size(), 1U);
  EXPECT_EQ(layout.layers_per_row, 48);
  EXPECT_DOUBLE_EQ(layout.row_bytes().value, 48 * 32'768.0);
  EXPECT_EQ(reserved_rows_per_sequence(layout, 100'000, 2048), 6250);
}

TEST(CacheLayout, NearlyEqualTypesArePaddedToTheLarger) {
  // 13 full and 12 windowed layers: 13 < 1.5 * 12, so groups of 13 with one place of padding.
  Transformer model = test::gpt_oss_20b();
  model.layers.push_back(model.layers[1]);
  const CacheLayout layout = layout_of(model);
  EXPECT_EQ(layout.layers_per_row, 13);
  EXPECT_EQ(layout.groups.size(), 2U);
}

TEST(CacheLayout, NarrowerLayersPutMoreTokensOnAPage) {
  // Full layers of 4 KV heads and windows of 8: the full group's blocks are twice as long.
  Transformer model = test::ends_of({.name = "two widths", .hidden = 1024, .vocabulary = 1000});
  Attention full = test::grouped_query(64, 4, 128);
  Attention window = test::grouped_query(64, 8, 128);
  window.span = test::sliding(128);
  model.layers.assign(4, test::two_norm_layer(full, {}, 1024));
  model.layers.insert(model.layers.end(), 4, test::two_norm_layer(window, {}, 1024));
  const CacheLayout layout = layout_of(model);
  EXPECT_DOUBLE_EQ(layout.page.value, 16 * 2 * 8 * 128 * 2);
  ASSERT_EQ(layout.groups.size(), 2U);
  EXPECT_EQ(layout.groups[0].block_tokens, 32);
  EXPECT_EQ(layout.groups[1].block_tokens, 0);
  // ceil(1000 / 32) + ceil(min(127 + 256, 1000) / 16) + 1 = 32 + 24 + 1.
  EXPECT_EQ(rows_per_sequence(layout, 1000, 256), 57);
}

TEST(CacheLayout, MixedWidthsOfFullAttentionShareOneGroup) {
  // One layer of 8 and one of 2 KV heads: the row is their sum.
  Transformer model = test::ends_of({.name = "per layer", .hidden = 1024, .vocabulary = 1000});
  model.layers = {test::two_norm_layer(test::grouped_query(8, 8, 64), {}, 1024),
                  test::two_norm_layer(test::grouped_query(8, 2, 64), {}, 1024),
                  test::two_norm_layer({}, {}, 1024)};
  const CacheLayout layout = layout_of(model);
  ASSERT_EQ(layout.groups.size(), 1U);
  EXPECT_EQ(layout.layers_per_row, 2);
  EXPECT_DOUBLE_EQ(layout.row_bytes().value, 16 * (2 * 8 * 64 * 2 + 2 * 2 * 64 * 2));
}

TEST(CacheLayout, APipelineStageHoldsItsOwnLayers) {
  // 61 layers in two stages: 31 on the fuller one.
  const CacheLayout layout = layout_of(test::deepseek_v3(), {.pipeline = 2});
  EXPECT_EQ(layout.layers_per_row, 31);
  EXPECT_DOUBLE_EQ(layout.page.value, 16 * 576 * 2);
}

TEST(CacheLayout, TensorParallelDividesThePageNotTheLatent) {
  EXPECT_DOUBLE_EQ(layout_of(test::llama_3_1_8b(), {.tensor = 4}).page.value, 16 * 4096 / 4);
  EXPECT_DOUBLE_EQ(layout_of(test::deepseek_v3(), {.tensor = 8}).page.value, 16 * 576 * 2);
}

TEST(CacheLayout, AModelWithoutACacheHasNoGroups) {
  Transformer model = test::ends_of({.name = "no mixer", .hidden = 1024, .vocabulary = 1000});
  model.layers = {test::two_norm_layer({}, DenseFfn{.intermediate = 4096}, 1024)};
  const CacheLayout layout = layout_of(model);
  EXPECT_TRUE(layout.groups.empty());
  EXPECT_EQ(rows_per_sequence(layout, 1000, 1000), 0);
}

TEST(CacheLayout, LongerSequencesNeverTakeFewerRows) {
  for (const Transformer& model :
       {test::llama_3_1_8b(), test::gemma_3_27b(), test::qwen3_next_80b(), test::llama_4_scout()}) {
    const CacheLayout layout = layout_of(model);
    std::int64_t before = 0;
    for (std::int64_t tokens = 1; tokens < 20'000; tokens += 97) {
      const std::int64_t rows = rows_per_sequence(layout, tokens, 512);
      EXPECT_GE(rows, before) << model.name << " " << tokens;
      before = rows;
    }
  }
}

}  // namespace
}  // namespace roofcast

#include "model/cache/kv_cache.hpp"

#include <gtest/gtest.h>

#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

double per_token(const Transformer& model, DType dtype = DType::bf16, int tensor = 1) {
  return kv_bytes_per_token(model, dtype, tensor).value;
}

TEST(KvCache, GroupedQueryAttentionKeepsTwoVectorsPerKvHead) {
  // 2 * kv_heads * head_dim * 2 bytes * layers.
  EXPECT_DOUBLE_EQ(per_token(test::llama_3_1_8b()), 2 * 8 * 128 * 2 * 32);   // 131,072
  EXPECT_DOUBLE_EQ(per_token(test::llama_3_1_70b()), 2 * 8 * 128 * 2 * 80);  // 327,680
  EXPECT_DOUBLE_EQ(per_token(test::qwen2_5_7b()), 57'344);                   // 4 heads, 28 layers
  EXPECT_DOUBLE_EQ(per_token(test::qwen3_32b()), 262'144);
  EXPECT_DOUBLE_EQ(per_token(test::mixtral_8x7b()), 131'072);
  EXPECT_DOUBLE_EQ(per_token(test::gpt2_small()), 36'864);  // 12 heads of 64, 12 layers
  EXPECT_DOUBLE_EQ(per_token(test::gemma_3_27b()), 507'904);
  EXPECT_DOUBLE_EQ(per_token(test::llama_4_scout()), 196'608);
}

TEST(KvCache, Llama270bAt4096TokensTakes1340Megabytes) {
  // 327,680 bytes * 4096 tokens = 1.342e9: 8 KV heads, both K and V.
  const Bytes bytes = cache_bytes_per_sequence(test::llama_2_70b(), DType::fp16, 4096);
  EXPECT_DOUBLE_EQ(bytes.value, 1'342'177'280);
}

TEST(KvCache, EightBitCachesAreHalf) {
  EXPECT_DOUBLE_EQ(per_token(test::llama_3_1_8b(), DType::fp8), 65'536);
}

TEST(KvCache, LatentAttentionKeepsOneLatentForAllHeads) {
  // (512 + 64) * 2 * 61; no factor two, no heads.
  EXPECT_DOUBLE_EQ(per_token(test::deepseek_v3()), 70'272);
  EXPECT_DOUBLE_EQ(per_token(test::deepseek_v3(), DType::fp8), 35'136);
  // Every rank holds the whole latent.
  EXPECT_DOUBLE_EQ(per_token(test::deepseek_v3(), DType::bf16, 8), 70'272);
}

TEST(KvCache, SparseLatentAttentionAddsScalesAndIndexerKeys) {
  // fp8_ds_mla: 512 + 4 * 4 + 64 * 2 = 656; indexer key 128 + 4 = 132; 61 layers.
  EXPECT_DOUBLE_EQ(per_token(test::deepseek_v3_2(), DType::fp8), (656 + 132) * 61);
  EXPECT_DOUBLE_EQ(per_token(test::deepseek_v3_2()), (1152 + 132) * 61);
  // Layers that use another layer's indexer keep no keys of their own.
  Transformer shared = test::deepseek_v3_2();
  for (Layer& layer : shared.layers) std::get<LatentAttention>(layer.mixer).index_heads = 0;
  EXPECT_DOUBLE_EQ(per_token(shared, DType::fp8), 656 * 61);  // 40,016
}

TEST(KvCache, KvHeadsAreReplicatedPastTheirNumber) {
  // 4 KV heads of 128 in 48 layers: one head a rank at TP 4 and at TP 8.
  const Transformer model = test::qwen3_30b_a3b();
  EXPECT_DOUBLE_EQ(per_token(model), 98'304);
  EXPECT_DOUBLE_EQ(per_token(model, DType::bf16, 4), 98'304 / 4);
  EXPECT_DOUBLE_EQ(per_token(model, DType::bf16, 8), 98'304 / 4);
  // Three ranks: two heads on the fullest.
  EXPECT_DOUBLE_EQ(per_token(model, DType::bf16, 3), 98'304 / 2);
}

TEST(KvCache, WindowsStopGrowing) {
  // Gemma-3-27B: 10 full layers of 8,192 bytes a token and 52 capped at 1024 tokens.
  const Transformer model = test::gemma_3_27b();
  EXPECT_DOUBLE_EQ(full_attention_kv_bytes_per_token(model, DType::bf16).value, 81'920);
  EXPECT_DOUBLE_EQ(cache_bytes_per_sequence(model, DType::bf16, 5000).value,
                   81'920.0 * 5000 + 52 * 8'192.0 * 1024);
  EXPECT_DOUBLE_EQ(cache_bytes_per_sequence(model, DType::bf16, 1000).value, 507'904.0 * 1000);
  // gpt-oss-20b: half of its 24 layers.
  EXPECT_DOUBLE_EQ(per_token(test::gpt_oss_20b()), 49'152);
  EXPECT_DOUBLE_EQ(full_attention_kv_bytes_per_token(test::gpt_oss_20b(), DType::bf16).value,
                   24'576);
}

TEST(KvCache, DeltaNetsKeepAStatePerSequence) {
  // Qwen3-Next: 12 layers of 2 * 2 * 256 * 2; 36 states of 24,576 bf16 and 524,288 fp32 elements.
  const Transformer model = test::qwen3_next_80b();
  EXPECT_DOUBLE_EQ(per_token(model), 24'576);
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(model).value, 36 * (24'576.0 * 2 + 524'288.0 * 4));
  EXPECT_DOUBLE_EQ(cache_bytes_per_sequence(model, DType::bf16, 100).value,
                   24'576.0 * 100 + 36 * (24'576.0 * 2 + 524'288.0 * 4));
  // Heads divide over ranks.
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(model, 4).value,
                   36 * (24'576.0 * 2 + 524'288.0 * 4) / 4);
}

TEST(KvCache, Mamba2KeepsConvolutionInputsAndState) {
  // Nemotron-H-56B: 10 attention layers, 54 states of 61,440 and 4,194,304 elements.
  Transformer model = test::nemotron_h_56b();
  EXPECT_DOUBLE_EQ(per_token(model), 40'960);
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(model).value, 459'620'352);
  model.state_dtype = DType::fp32;
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(model).value, 912'605'184);
  // Sixteen ranks: 16 heads each, and one of 8 groups each:
  // 54 * ((16 * 64 + 2 * 256) * 3 * 2 + 16 * 64 * 256 * 4).
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(model, 16).value,
                   54 * (1536.0 * 3 * 2 + 16 * 64 * 256 * 4.0));
  EXPECT_DOUBLE_EQ(per_token(test::nemotron_3_nano()), 6'144);
}

TEST(KvCache, LightningAttentionKeepsASquarePerHead) {
  // MiniMax-Text-01: 10 softmax layers of 2 * 8 * 128 * 2; 70 states of 64 * 128 * 128.
  const Transformer model = test::minimax_text_01();
  EXPECT_DOUBLE_EQ(per_token(model), 40'960);
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(model).value, 70 * 64 * 128 * 128 * 2.0);
}

TEST(KvCache, UnequalSharedAndCompressedCaches) {
  Transformer model = test::ends_of({.name = "one layer", .hidden = 1024, .vocabulary = 1000});
  Attention attention = test::grouped_query(64, 4, 192);
  attention.value_head_dim = 128;
  const auto bytes = [&] {
    model.layers = {test::two_norm_layer(attention, {}, 1024)};
    return per_token(model);
  };
  EXPECT_DOUBLE_EQ(bytes(), 4 * (192 + 128) * 2);  // MiMo-V2: keys wider than values
  attention.keys_are_values = true;
  EXPECT_DOUBLE_EQ(bytes(), 4 * 192 * 2);
  attention.caches_both = true;  // Gemma-4: projected once, kept twice
  EXPECT_DOUBLE_EQ(bytes(), 4 * (192 + 128) * 2);
  attention.caches_both = false;
  attention.cache_compression = 4;
  EXPECT_DOUBLE_EQ(bytes(), 4 * 192 * 2 / 4);
  attention.local_tokens = 128;
  EXPECT_DOUBLE_EQ(bytes(), 4 * 192 * 2 / 4);
  EXPECT_DOUBLE_EQ(cache_bytes_per_sequence(model, DType::bf16, 1000).value,
                   4 * 192 * 2 / 4 * 1000.0 + 4 * 192 * 2 * 128.0);
  attention.reuses_earlier_cache = true;
  EXPECT_DOUBLE_EQ(bytes(), 0);
}

}  // namespace
}  // namespace roofcast

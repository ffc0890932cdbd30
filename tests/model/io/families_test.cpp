// Parameter counts and KV bytes of published models. Sources of the expected totals: C, twice the
// count is `total_size` in the repository's model.safetensors.index.json; R, the count that Hugging
// Face shows from the checkpoint's headers; P, a published rounded size (the exact value here is
// derived; the rounding is checked separately). Active counts and bytes per token are worked out by
// hand from the published configs with the formulas of model/architecture/weights.cpp and
// model/cache/kv_cache.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/io/model_reader.hpp"

namespace roofcast {
namespace {

struct Total {
  const char* model;
  std::int64_t parameters;
  char source;  // C, R, P as above; D: derived from the config only
};

constexpr Total kTotals[] = {
    {"llama-2-7b", 6'738'415'616, 'R'},
    {"llama-2-13b", 13'015'864'320, 'R'},
    {"llama-2-70b", 68'976'648'192, 'R'},
    {"llama-3.1-8b", 8'030'261'248, 'C'},    // 16,060,522,496 bytes
    {"llama-3.1-70b", 70'553'706'496, 'C'},  // 141,107,412,992 bytes
    {"llama-3.1-405b", 405'853'388'800, 'R'},
    {"llama-3.2-1b", 1'235'814'400, 'R'},
    {"llama-3.2-3b", 3'212'749'824, 'R'},
    {"mistral-7b-v0.1", 7'241'732'096, 'R'},
    {"mistral-nemo-12b", 12'247'782'400, 'R'},
    {"mistral-small-24b", 23'572'403'200, 'R'},
    {"qwen2.5-0.5b", 494'032'768, 'C'},
    {"qwen2.5-1.5b", 1'543'714'304, 'R'},
    {"qwen2.5-3b", 3'085'938'688, 'C'},  // 6,171,877,376 bytes
    {"qwen2.5-7b", 7'615'616'512, 'C'},  // 15,231,233,024 bytes
    {"qwen2.5-14b", 14'770'033'664, 'R'},
    {"qwen2.5-32b", 32'763'876'352, 'R'},
    {"qwen2.5-72b", 72'706'203'648, 'R'},
    {"qwen3-0.6b", 596'049'920, 'R'},
    {"qwen3-1.7b", 1'720'574'976, 'P'},
    {"qwen3-4b", 4'022'468'096, 'P'},
    {"qwen3-8b", 8'190'735'360, 'C'},  // 16,381,470,720 bytes
    {"qwen3-14b", 14'768'307'200, 'R'},
    {"qwen3-embedding-0.6b", 595'776'512, 'R'},
    {"qwen3-embedding-4b", 4'021'774'336, 'R'},
    {"qwen3-embedding-8b", 7'567'295'488, 'R'},
    {"qwen3-32b", 32'762'123'264, 'R'},
    {"gemma-2-2b", 2'614'341'888, 'R'},
    {"gemma-2-9b", 9'241'705'984, 'R'},
    {"gemma-2-27b", 27'227'128'320, 'R'},
    {"gemma-3-1b", 999'885'952, 'R'},
    {"gemma-3-4b", 3'880'263'168, 'P'},
    {"gemma-3-12b", 11'766'034'176, 'P'},
    {"gemma-3-27b", 27'009'346'304, 'P'},
    {"phi-3-mini", 3'821'079'552, 'R'},
    {"phi-3-medium", 13'960'238'080, 'R'},
    {"phi-4", 14'659'507'200, 'C'},  // 29,319,014,400 bytes
    {"gpt2", 124'439'808, 'R'},
    // BERT-large: 31,782,912 of embeddings (words, 512 positions, 2 token types, a norm), 24 layers
    // of 12,596,224 and the pooler's 1,049,600. XLM-RoBERTa: 250,002 words and one type instead.
    {"bge-large-en-v1.5", 335'141'888, 'R'},
    {"multilingual-e5-large", 559'890'432, 'R'},
    {"bge-m3", 567'754'752, 'D'},  // 8,194 positions
    {"gpt2-medium", 354'823'168, 'R'},
    {"gpt2-large", 774'030'080, 'R'},
    {"gpt2-xl", 1'557'611'200, 'R'},
    {"gpt-3", 174'604'259'328, 'P'},  // 175.0 B in table 2.1 of arXiv 2005.14165
    {"falcon-7b", 6'921'720'704, 'R'},
    {"falcon-40b", 41'303'293'952, 'R'},
    {"mixtral-8x7b", 46'702'792'704, 'C'},  // 93,405,585,408 bytes
    {"mixtral-8x22b", 140'620'634'112, 'R'},
    {"mixtral-8x22b-v0.3", 140'630'071'296, 'R'},
    {"qwen3-30b-a3b", 30'532'122'624, 'C'},  // 61,064,245,248 bytes
    {"qwen3-235b-a22b", 235'093'634'560, 'R'},
    {"qwen3-coder-480b-a35b", 480'154'875'392, 'R'},
    {"qwen3-next-80b-a3b", 79'674'391'296, 'R'},
    {"qwen3.5-35b-a3b", 34'660'610'688, 'P'},
    {"gpt-oss-20b", 20'914'757'184, 'R'},
    {"gpt-oss-120b", 116'829'156'672, 'R'},
    {"llama-4-scout", 107'769'861'120, 'P'},
    {"llama-4-maverick", 400'711'848'960, 'P'},
    {"glm-4.5-air", 106'852'251'264, 'P'},
    {"glm-4.5", 352'797'829'024, 'P'},
    {"minimax-m2", 228'689'764'864, 'P'},
    {"deepseek-v3", 671'026'419'200, 'P'},
    {"deepseek-v3.2", 671'877'944'064, 'D'},
    {"deepseek-v2", 235'741'434'880, 'R'},
    {"deepseek-v2-lite", 15'706'484'224, 'R'},
    {"kimi-k2", 1'026'408'232'448, 'P'},
    {"nemotron-h-56b", 56'324'350'464, 'P'},
    {"nemotron-3-nano-30b-a3b", 31'577'940'288, 'P'},
};

TEST(ModelFamilies, TotalParametersEqualPublishedCounts) {
  for (const Total& known : kTotals) {
    EXPECT_EQ(count_parameters(load_model(known.model)).total, known.parameters)
        << known.model << ", class " << known.source;
  }
}

struct Published {
  const char* model;
  double total;  // as printed on the model card
  double unit;   // of its last digit
};

// Rounded sizes of model cards, in billions; tolerance half a unit. Cards that count the
// multi-token-prediction block or the vision tower are left out.
constexpr Published kPublished[] = {
    {"qwen3-1.7b", 1.7, 0.1},      {"qwen3-4b", 4.0, 0.1},
    {"qwen3.5-35b-a3b", 35, 1},    {"glm-4.5-air", 107, 1},
    {"deepseek-v3", 671, 1},       {"kimi-k2", 1'000, 100},
    {"nemotron-h-56b", 56, 1},     {"minimax-text-01", 456, 1},
    {"deepseek-v4-flash", 284, 1}, {"nemotron-3-nano-30b-a3b", 31.6, 0.1},
    {"minimax-m2", 230, 10},       {"deepseek-v4-pro", 1'600, 100},
    {"gpt-oss-20b", 20.91, 0.01},  {"gpt-oss-120b", 116.83, 0.01}};

TEST(ModelFamilies, TotalParametersRoundToPublishedSizes) {
  for (const Published& known : kPublished) {
    const auto total = static_cast<double>(count_parameters(load_model(known.model)).total);
    EXPECT_NEAR(total / 1e9, known.total, known.unit / 2) << known.model;
  }
}

struct Active {
  const char* model;
  std::int64_t all;  // both embeddings counted; 0: not stated
  std::int64_t without_input_embedding;
};

constexpr Active kActive[] = {
    {"mixtral-8x7b", 12'879'925'248, 0},
    {"qwen3-30b-a3b", 3'353'032'704, 0},
    {"qwen3-235b-a22b", 22'190'763'520, 0},
    {"qwen3-coder-480b-a35b", 35'474'765'312, 0},
    {"qwen3-next-80b-a3b", 3'874'929'408, 0},
    {"qwen3.5-35b-a3b", 3'454'988'928, 0},
    {"nemotron-3-nano-30b-a3b", 3'580'076'352, 3'227'754'816},
};

TEST(ModelFamilies, ActiveParametersOfExpertModelsAreExact) {
  for (const Active& known : kActive) {
    const ParameterCount count = count_parameters(load_model(known.model));
    EXPECT_EQ(count.active, known.all) << known.model;
    if (known.without_input_embedding == 0) continue;
    EXPECT_EQ(count.active_without_input_embedding, known.without_input_embedding) << known.model;
  }
}

struct RoundedActive {
  const char* model;
  double billions;
  double unit;
};

TEST(ModelFamilies, ActiveParametersRoundToStatedSizes) {
  constexpr RoundedActive kAll[] = {
      {"mixtral-8x22b", 39.15, 0.01}, {"mixtral-8x22b-v0.3", 39.16, 0.01},
      {"llama-4-scout", 17.17, 0.01}, {"llama-4-maverick", 17.18, 0.01},
      {"minimax-m2", 11.03, 0.01},    {"deepseek-v3", 37.55, 0.01},
      {"deepseek-v2", 21.38, 0.01},   {"deepseek-v2-lite", 2.66, 0.01},
      {"kimi-k2", 32.86, 0.01}};
  for (const RoundedActive& known : kAll) {
    const auto active = static_cast<double>(count_parameters(load_model(known.model)).active);
    EXPECT_NEAR(active / 1e9, known.billions, known.unit / 2) << known.model;
  }
  // gpt-oss: the model card's 3.61 B and 5.13 B leave the input embedding out.
  constexpr RoundedActive kWithoutEmbedding[] = {
      {"gpt-oss-20b", 3.6083, 0.0001},    {"gpt-oss-120b", 5.1328, 0.0001},
      {"qwen3-next-80b-a3b", 3.56, 0.01}, {"glm-4.5-air", 12.80, 0.01},
      {"glm-4.5", 32.86, 0.01},           {"minimax-m2", 10.42, 0.01},
      {"deepseek-v3", 36.63, 0.01},       {"deepseek-v2-lite", 2.45, 0.01}};
  for (const RoundedActive& known : kWithoutEmbedding) {
    const ParameterCount count = count_parameters(load_model(known.model));
    const auto active = static_cast<double>(count.active_without_input_embedding);
    EXPECT_NEAR(active / 1e9, known.billions, known.unit / 2) << known.model;
  }
}

// Its model card: 2.8 trillion parameters, 104 billion of them active. Sizes of its config.json
// (moonshotai/Kimi-K3 at f831ab66): 93 layers, every fourth and the last with latent attention.
TEST(ModelFamilies, KimiK3sExpertsAreAsWideAsTheirProjection) {
  const auto counted = [](const char* latent) {
    std::string full;
    for (int layer = 4; layer <= 92; layer += 4) full += std::to_string(layer) + ", ";
    return count_parameters(parse_model(
        R"({"model_type": "kimi_k3", "text_config": {"model_type": "kimi_linear",
            "hidden_size": 7168, "num_hidden_layers": 93, "intermediate_size": 33792,
            "vocab_size": 163840, "max_position_embeddings": 1048576, "num_attention_heads": 96,
            "num_key_value_heads": 96, "q_lora_rank": 1536, "kv_lora_rank": 512,
            "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
            "mla_use_output_gate": true, "attn_res_block_size": 12, "num_experts": 896,
            "num_experts_per_token": 16, "num_shared_experts": 2, "moe_intermediate_size": 3072,
            "first_k_dense_replace": 1, "num_expert_group": 1, "linear_attn_config": {
              "num_heads": 96, "head_dim": 128, "short_conv_kernel_size": 4,
              "use_full_rank_gate": true, "full_attn_layers": [)" +
            full + "93]}" + latent + "}}",
        "", "config.json"));
  };
  const ParameterCount k3 = counted(R"(, "routed_expert_hidden_size": 3584)");
  EXPECT_NEAR(static_cast<double>(k3.total) / 1e12, 2.8, 0.05);
  EXPECT_NEAR(static_cast<double>(k3.active_without_input_embedding) / 1e9, 104, 0.5);
  // As wide as the model they would have 92 * 896 * 3 * 3584 * 3072 more.
  const double twice = 92.0 * 896 * 3 * 3584 * 3072;
  EXPECT_NEAR(static_cast<double>(counted("").total - k3.total) / twice, 1, 0.01);
}

struct KvBytes {
  const char* model;
  double per_token;
};

// bf16, whole model, before any window is full.
constexpr KvBytes kKvBytes[] = {
    {"bge-m3", 0},
    {"gpt2", 36'864},
    {"gpt2-xl", 307'200},
    {"falcon-7b", 8'192},
    {"falcon-40b", 122'880},
    {"llama-2-7b", 524'288},
    {"llama-2-13b", 819'200},
    {"llama-2-70b", 327'680},
    {"llama-3.1-8b", 131'072},
    {"llama-3.1-70b", 327'680},
    {"llama-3.1-405b", 516'096},
    {"llama-3.2-1b", 32'768},
    {"llama-3.2-3b", 114'688},
    {"mistral-7b-v0.1", 131'072},
    {"mistral-nemo-12b", 163'840},
    {"mistral-small-24b", 163'840},  // also measured by vLLM: 28.20 GiB / 184,832 tokens
    {"qwen2.5-0.5b", 12'288},
    {"qwen2.5-1.5b", 28'672},
    {"qwen2.5-3b", 36'864},
    {"qwen2.5-7b", 57'344},
    {"qwen2.5-14b", 196'608},
    {"qwen2.5-32b", 262'144},
    {"qwen2.5-72b", 327'680},
    {"qwen3-0.6b", 114'688},
    {"qwen3-8b", 147'456},
    {"qwen3-14b", 163'840},
    {"qwen3-32b", 262'144},
    {"qwen3-30b-a3b", 98'304},
    {"qwen3-235b-a22b", 192'512},
    {"qwen3-coder-480b-a35b", 253'952},
    {"mixtral-8x7b", 131'072},
    {"mixtral-8x22b", 229'376},
    {"phi-3-mini", 393'216},
    {"phi-3-medium", 204'800},
    {"phi-4", 204'800},
    {"gemma-2-2b", 106'496},
    {"gemma-2-9b", 344'064},
    {"gemma-2-27b", 376'832},
    {"gemma-3-1b", 26'624},
    {"gemma-3-4b", 139'264},
    {"gemma-3-12b", 393'216},
    {"gemma-3-27b", 507'904},
    {"gpt-oss-20b", 49'152},
    {"gpt-oss-120b", 73'728},
    {"llama-4-scout", 196'608},
    {"llama-4-maverick", 196'608},
    {"deepseek-v3", 70'272},  // (512 + 64) * 2 * 61
    {"kimi-k2", 70'272},
    {"deepseek-v2", 69'120},
    {"deepseek-v2-lite", 31'104},
    {"glm-4.5", 376'832},
    {"glm-4.5-air", 188'416},
    {"minimax-m2", 253'952},
    {"minimax-text-01", 40'960},  // 10 softmax layers of 80
    {"qwen3-next-80b-a3b", 24'576},
    {"qwen3.5-35b-a3b", 20'480},
    {"nemotron-h-56b", 40'960},
    {"nemotron-3-nano-30b-a3b", 6'144},
};

TEST(ModelFamilies, KvBytesPerTokenEqualKnownAnswers) {
  for (const KvBytes& known : kKvBytes) {
    EXPECT_DOUBLE_EQ(kv_bytes_per_token(load_model(known.model), DType::bf16).value,
                     known.per_token)
        << known.model;
  }
}

TEST(ModelFamilies, WindowedLayersStopGrowing) {
  // Gemma-3-27B: 10 full layers of 2 * 16 * 128 * 2 bytes a token, 52 that keep 1,024 tokens.
  const Transformer gemma = load_model("gemma-3-27b");
  for (const std::int64_t tokens : {512, 1'024, 100'000}) {
    const double windowed =
        52.0 * 8'192 * static_cast<double>(std::min<std::int64_t>(tokens, 1'024));
    EXPECT_DOUBLE_EQ(cache_bytes_per_sequence(gemma, DType::bf16, tokens).value,
                     81'920.0 * static_cast<double>(tokens) + windowed);
  }
  // Full layers of the Gemma-3 sizes: 4 of 26, 5 of 34, 8 of 48, 10 of 62.
  const std::vector<KvBytes> full_layers = {{"gemma-3-1b", 4 * 26'624.0 / 26},
                                            {"gemma-3-4b", 5 * 139'264.0 / 34},
                                            {"gemma-3-12b", 8 * 393'216.0 / 48},
                                            {"gemma-3-27b", 10 * 507'904.0 / 62},
                                            {"gpt-oss-20b", 24'576},
                                            {"gpt-oss-120b", 36'864},
                                            {"gemma-2-9b", 344'064.0 / 2},
                                            {"llama-4-scout", 196'608.0 / 4}};
  for (const KvBytes& known : full_layers) {
    EXPECT_DOUBLE_EQ(full_attention_kv_bytes_per_token(load_model(known.model), DType::bf16).value,
                     known.per_token)
        << known.model;
  }
}

TEST(ModelFamilies, RecurrentStatesAreConstant) {
  // Qwen3-Next: 36 delta nets of (2 * 16 * 128 + 32 * 128) * 3 convolution inputs and
  // 32 * 128 * 128 state elements; Qwen3.5-35B has 30 of the same, with fp32 state.
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(load_model("qwen3-next-80b-a3b")).value,
                   36.0 * (24'576 + 524'288) * 2);
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(load_model("qwen3.5-35b-a3b")).value,
                   30.0 * (24'576 * 2 + 524'288 * 4));
  // Nemotron-H-56B: 54 Mamba-2 blocks of 61,440 and 4,194,304 elements.
  Transformer nemotron = load_model("nemotron-h-56b");
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(nemotron).value, 459'620'352);
  nemotron.state_dtype = DType::fp32;
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(nemotron).value, 912'605'184);
  EXPECT_DOUBLE_EQ(state_bytes_per_sequence(load_model("nemotron-3-nano-30b-a3b")).value,
                   23.0 * (18'432 * 2 + 524'288 * 4));
}

TEST(ModelFamilies, SparseLatentCacheInFp8) {
  // fp8_ds_mla: 656 bytes a token and layer (40,016 over 61 layers), and 132 for the indexer.
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(load_model("deepseek-v3.2"), DType::fp8).value,
                   40'016 + 61 * 132);
  // GLM-5.2: only 21 of the 78 layers have an indexer of their own, all keep the sparse layout.
  const Transformer glm = load_model("glm-5.2");
  std::int64_t indexers = 0;
  for (const Layer& layer : glm.layers) {
    indexers += std::get<LatentAttention>(layer.mixer).index_heads > 0 ? 1 : 0;
  }
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(glm, DType::fp8).value,
                   78 * 656 + 132.0 * static_cast<double>(indexers));
  EXPECT_EQ(indexers, 21);
}

TEST(ModelFamilies, VisionTowersEqualPublishedTotals) {
  // Hugging Face totals less the text model: Llama-4 108,641,793,536 and 401,583,781,376;
  // Gemma-3-4B 4,300,079,472; Qwen3-VL-8B 8,767,123,696.
  EXPECT_EQ(load_model("llama-4-scout").vision_parameters, 871'932'416);
  EXPECT_EQ(load_model("llama-4-maverick").vision_parameters, 871'932'416);
  EXPECT_EQ(load_model("gemma-3-4b").vision_parameters, 4'300'079'472 - 3'880'263'168);
  // MoonViT-SO-400M, 416,866,032 of which 27 layers of 4 x 1152 x 1153 + 2 x 1152 x 4304 + 4304 +
  // 5 x 1152, with Kimi-VL's and Kimi-K2.5's projectors (4608 -> 4608 -> 2048 and 7168).
  EXPECT_EQ(load_model("kimi-vl-a3b").vision_parameters, 416'866'032 + 30'679'808);
  EXPECT_EQ(load_model("kimi-k2.5").vision_parameters, 416'866'032 + 54'277'888);
  EXPECT_EQ(load_model("kimi-k2.5").vision_layers, 27);
  EXPECT_EQ(load_model("kimi-k2.5").vision_hidden, 1152);
  // Gemma 4's "about 550 M" (model card): 27 layers of 4 x 1152 x 1152 + 3 x 1152 x 4304 + 4 x 1152
  // + 144, 768 x 1152, 2 x 10240 x 1152 and 2 x 1152, and a projection to 2816 and 5376.
  EXPECT_EQ(load_model("gemma-4-26b-a4b").vision_parameters, 569'550'384 + 1152 * 2816);
  EXPECT_EQ(load_model("gemma-4-31b").vision_parameters, 569'550'384 + 1152 * 5376);
  // CLIP ViT-L/14 at 336 pixels, 303,507,456 whole, less a layer (12,596,224) and a norm (2,048).
  EXPECT_EQ(load_model("llava-v1.6-mistral-7b").vision_parameters,
            303'507'456 - 12'596'224 - 2'048 + 20'983'808);
  EXPECT_EQ(load_model("qwen3-vl-8b").vision_parameters, 8'767'123'696 - 8'190'735'360);
}

// Patches of 16 pixels, two by two (Qwen3-VL) or three by three (Gemma 4); Gemma 3 pools 64 x 64 to
// 256; Llama 4's pixel_shuffle_ratio is 0.5.
TEST(ModelFamilies, PatchesAreJoinedToTokens) {
  const auto joined = [](const char* name) { return load_model(name).vision.patches_per_token; };
  EXPECT_EQ(joined("qwen3-vl-8b"), 4);
  EXPECT_EQ(joined("gemma-4-31b"), 9);
  EXPECT_EQ(joined("gemma-3-27b"), 16);
  EXPECT_EQ(joined("llama-4-scout"), 4);
  EXPECT_EQ(joined("kimi-k2.5"), 4);
  EXPECT_EQ(joined("mistral-small-3.1-24b"), 4);
  EXPECT_EQ(joined("llama-3.1-8b"), 0);
}

// Layouts of families in which totals alone would not reveal a mistake.

TEST(ModelFamilies, Llama4MixesChunkedAndFullLayers) {
  const Transformer maverick = load_model("llama-4-maverick");
  ASSERT_EQ(maverick.layers.size(), 48u);
  for (std::size_t i = 0; i < 48; ++i) {
    const auto& attention = std::get<Attention>(maverick.layers[i].mixer);
    const bool full = attention.span.kind == AttentionSpan::Kind::full;
    EXPECT_EQ(full, i % 4 == 3) << i;
    EXPECT_EQ(std::holds_alternative<MoeFfn>(maverick.layers[i].ffn), i % 2 == 1) << i;
  }
}

TEST(ModelFamilies, DeepSeekV4CompressesWhatIsOlderThanItsWindow) {
  // Flash: layers 0 and 1 keep 128 tokens; ratio 4 layers search 512 entries, ratio 128 read all.
  const Transformer flash = load_model("deepseek-v4-flash");
  const auto& first = std::get<Attention>(flash.layers[0].mixer);
  EXPECT_EQ(first.span, (AttentionSpan{.kind = AttentionSpan::Kind::sliding, .tokens = 128}));
  const auto& searched = std::get<Attention>(flash.layers[2].mixer);
  EXPECT_EQ(searched.cache_compression, 4);
  EXPECT_EQ(searched.local_tokens, 128);
  EXPECT_EQ(searched.span, (AttentionSpan{.kind = AttentionSpan::Kind::sparse, .tokens = 512}));
  const auto& whole = std::get<Attention>(flash.layers[3].mixer);
  EXPECT_EQ(whole.cache_compression, 128);
  EXPECT_EQ(whole.span.kind, AttentionSpan::Kind::full);
  // MXFP4 experts: 4 bits and an 8-bit scale per 32 weights.
  EXPECT_DOUBLE_EQ(flash.layers[2].ffn_format.bits_per_weight, 4.25);
  EXPECT_EQ(flash.layers[2].ffn_format.compute, DType::fp8);
}

TEST(ModelFamilies, Gemma4CachesKeysAndValuesOfItsSharedProjection) {
  // 31B: 50 windowed layers of 2 * 16 * 256 * 2 bytes, 10 full ones of 2 * 4 * 512 * 2.
  const Transformer gemma = load_model("gemma-4-31b");
  EXPECT_DOUBLE_EQ(full_attention_kv_bytes_per_token(gemma, DType::bf16).value,
                   10.0 * 2 * 4 * 512 * 2);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(gemma, DType::bf16).value,
                   10.0 * 2 * 4 * 512 * 2 + 50.0 * 2 * 16 * 256 * 2);
}

}  // namespace
}  // namespace roofcast

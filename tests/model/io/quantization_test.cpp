#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "model/architecture/weights.hpp"
#include "model/io/model_reader.hpp"
#include "model/io/module_patterns.hpp"

namespace roofcast {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json small_model(const std::string& model_type) {
  json config = {
      {"architectures", {"X"}},          {"model_type", model_type}, {"hidden_size", 512},
      {"intermediate_size", 1024},       {"num_hidden_layers", 12},  {"num_attention_heads", 8},
      {"num_key_value_heads", 2},        {"head_dim", 64},           {"vocab_size", 1000},
      {"max_position_embeddings", 4096}, {"torch_dtype", "bfloat16"}};
  if (model_type == "llama") return config;
  config.update({{"num_experts", 16}, {"num_experts_per_tok", 2}});
  if (model_type == "gpt_oss") return config;
  config.update({{"moe_intermediate_size", 256}, {"shared_expert_intermediate_size", 256}});
  return config;
}

Transformer quantised(const json& quantization, const std::string& model_type = "llama") {
  json config = small_model(model_type);
  config["quantization_config"] = quantization;
  return parse_model(config.dump(), {}, "config.json");
}

WeightFormat dense_format(const json& quantization) {
  return quantised(quantization).layers.front().ffn_format;
}

std::string error_of(const json& quantization) {
  try {
    quantised(quantization);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

void expect_format(const json& quantization, const WeightFormat& expected) {
  const WeightFormat format = dense_format(quantization);
  EXPECT_EQ(format.name, expected.name) << quantization;
  EXPECT_DOUBLE_EQ(format.bits_per_weight, expected.bits_per_weight) << quantization;
  EXPECT_EQ(format.compute, expected.compute) << quantization;
}

TEST(Quantization, Fp8PerTensorAndInBlocks) {
  expect_format({{"quant_method", "fp8"}, {"activation_scheme", "dynamic"}},
                {.name = "fp8", .bits_per_weight = 8, .compute = DType::fp8});
  // One fp32 scale per 128 x 128 block.
  expect_format({{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}},
                {.name = "fp8_block", .bits_per_weight = 8 + 32.0 / 16'384, .compute = DType::fp8});
  expect_format({{"quant_method", "fbgemm_fp8"}},
                {.name = "fp8", .bits_per_weight = 8, .compute = DType::fp8});
  EXPECT_THAT(error_of({{"quant_method", "fp8"}, {"weight_block_size", {128}}}),
              HasSubstr("'weight_block_size' must be two"));
  EXPECT_THAT(error_of({{"quant_method", "fp8"}, {"weight_block_size", {0, 128}}}),
              HasSubstr("'weight_block_size'"));
}

TEST(Quantization, IntegerGroupsCarryScaleAndZeroPoint) {
  // 4 bits, a 16-bit scale and a 4-bit zero point per 128 weights; multiplied in 16 bits.
  const double bits = 4 + 16.0 / 128 + 4.0 / 128;
  expect_format({{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}, {"zero_point", true}},
                {.name = "awq", .bits_per_weight = bits, .compute = DType::bf16});
  expect_format({{"quant_method", "awq"}, {"w_bit", 4}, {"q_group_size", 128}},
                {.name = "awq", .bits_per_weight = bits, .compute = DType::bf16});
  expect_format({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}, {"desc_act", false}},
                {.name = "gptq", .bits_per_weight = bits, .compute = DType::bf16});
  expect_format({{"quant_method", "gptq"}, {"bits", 8}, {"group_size", -1}},
                {.name = "gptq", .bits_per_weight = 8, .compute = DType::bf16});
  EXPECT_THAT(error_of({{"quant_method", "awq"}}), HasSubstr("'bits' or 'w_bit' is missing"));
}

json group_of(const json& weights, const json& activations) {
  return {{"quant_method", "compressed-tensors"},
          {"config_groups",
           {{"group_0",
             {{"targets", {"Linear"}}, {"weights", weights}, {"input_activations", activations}}}}},
          {"ignore", {"lm_head"}}};
}

TEST(Quantization, CompressedTensorsGroups) {
  const json eight_float = {{"num_bits", 8}, {"type", "float"}};
  expect_format(
      group_of({{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}}, eight_float),
      {.name = "fp8", .bits_per_weight = 8, .compute = DType::fp8});
  expect_format(group_of({{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}}, nullptr),
                {.name = "fp8", .bits_per_weight = 8, .compute = DType::bf16});
  expect_format(group_of({{"num_bits", 8},
                          {"type", "float"},
                          {"strategy", "block"},
                          {"block_structure", {128, 128}}},
                         eight_float),
                {.name = "fp8_block", .bits_per_weight = 8 + 32.0 / 16'384, .compute = DType::fp8});
  expect_format(group_of({{"num_bits", 8}, {"type", "int"}, {"strategy", "channel"}},
                         {{"num_bits", 8}, {"type", "int"}}),
                {.name = "int8", .bits_per_weight = 8, .compute = DType::int8});
  expect_format(group_of({{"num_bits", 8}, {"type", "int"}, {"strategy", "channel"}}, nullptr),
                {.name = "int8", .bits_per_weight = 8, .compute = DType::bf16});
  expect_format(
      group_of({{"num_bits", 4}, {"type", "int"}, {"strategy", "group"}, {"group_size", 32}},
               nullptr),
      {.name = "int4", .bits_per_weight = 4 + 16.0 / 32, .compute = DType::bf16});
  expect_format(group_of({{"num_bits", 4},
                          {"type", "int"},
                          {"strategy", "group"},
                          {"group_size", 128},
                          {"symmetric", false}},
                         nullptr),
                {.name = "int4", .bits_per_weight = 4 + 20.0 / 128, .compute = DType::bf16});
  // NVFP4: an 8-bit scale per 16 weights; with 16-bit activations weight-only.
  const json nvfp4 = {{"num_bits", 4}, {"type", "float"}, {"group_size", 16}};
  expect_format(group_of(nvfp4, nvfp4),
                {.name = "nvfp4", .bits_per_weight = 4.5, .compute = DType::fp4});
  expect_format(group_of(nvfp4, nullptr),
                {.name = "nvfp4", .bits_per_weight = 4.5, .compute = DType::bf16});
  EXPECT_THAT(error_of(group_of({{"num_bits", 3}, {"type", "int"}}, nullptr)),
              HasSubstr("config_groups: group_0: weights: 'num_bits' is 3"));
  EXPECT_THAT(error_of({{"quant_method", "compressed-tensors"}}), HasSubstr("'config_groups'"));
}

TEST(Quantization, ModeloptAlgorithms) {
  const auto algorithm = [](const std::string& name) {
    return json{{"quant_method", "modelopt"}, {"quant_algo", name}};
  };
  expect_format(algorithm("FP8"), {.name = "fp8", .bits_per_weight = 8, .compute = DType::fp8});
  expect_format(algorithm("NVFP4"),
                {.name = "nvfp4", .bits_per_weight = 4.5, .compute = DType::fp4});
  expect_format(algorithm("W4A16_NVFP4"),
                {.name = "nvfp4", .bits_per_weight = 4.5, .compute = DType::bf16});
  // MXFP8: an 8-bit scale per 32 weights.
  expect_format(algorithm("MXFP8"),
                {.name = "mxfp8", .bits_per_weight = 8.25, .compute = DType::fp8});
  expect_format(algorithm("FP8_PB_WO"),
                {.name = "fp8_block", .bits_per_weight = 8 + 32.0 / 16'384, .compute = DType::fp8});
  expect_format(algorithm("W4A8_AWQ"),
                {.name = "awq", .bits_per_weight = 4 + 16.0 / 128, .compute = DType::fp8});
  // Some files have quant_algo without quant_method.
  expect_format({{"quant_algo", "FP8"}},
                {.name = "fp8", .bits_per_weight = 8, .compute = DType::fp8});
  EXPECT_THAT(error_of(algorithm("FP3")), HasSubstr("'quant_algo' is 'FP3', which is unknown"));
}

TEST(Quantization, BitsAndBytes) {
  expect_format({{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}},
                {.name = "nf4", .bits_per_weight = 4.5, .compute = DType::bf16});
  expect_format({{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}},
                {.name = "int8", .bits_per_weight = 8, .compute = DType::int8});
}

TEST(Quantization, UnknownMethodsAreNamed) {
  EXPECT_THAT(error_of({{"quant_method", "quark"}}),
              testing::StartsWith(
                  "config.json: quantization_config: 'quant_method' is 'quark', which is unknown"));
  EXPECT_THAT(error_of(json::object()), HasSubstr("'quant_method' is ''"));
  EXPECT_THAT(error_of("fp8"), HasSubstr("expected a JSON object"));
}

TEST(Quantization, EmbeddingsNormsAndLmHeadStayInSixteenBits) {
  const Transformer model = quantised({{"quant_method", "fp8"}});
  EXPECT_EQ(model.embedding_format.name, "bf16");
  EXPECT_EQ(model.lm_head_format.name, "bf16");
  EXPECT_EQ(model.layers.front().mixer_format.name, "fp8");
  EXPECT_EQ(
      quantised({{"quant_method", "gptq"}, {"bits", 4}, {"lm_head", true}}).lm_head_format.name,
      "gptq");
}

TEST(Quantization, Mxfp4IsOfExpertsOnly) {
  json config = small_model("gpt_oss");
  config["num_local_experts"] = 16;
  config["sliding_window"] = 128;
  config["quantization_config"] = {
      {"quant_method", "mxfp4"},
      {"modules_to_not_convert",
       {"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}}};
  const Transformer model = parse_model(config.dump(), {}, "config.json");
  const Layer& layer = model.layers.front();
  EXPECT_EQ(layer.ffn_format.name, "mxfp4");
  EXPECT_DOUBLE_EQ(layer.ffn_format.bits_per_weight, 4.25);
  EXPECT_EQ(layer.ffn_format.compute, DType::bf16);
  EXPECT_EQ(layer.mixer_format.name, "bf16");
}

TEST(Quantization, ExclusionsByNameParentPartWildcardAndExpression) {
  const auto excluded = [](const std::string& pattern) {
    return quantised({{"quant_method", "fp8"}, {"modules_to_not_convert", {pattern}}}, "qwen2_moe");
  };
  const Transformer parent = excluded("model.layers.1.self_attn");
  EXPECT_EQ(parent.layers[0].mixer_format.name, "fp8");
  EXPECT_EQ(parent.layers[1].mixer_format.name, "bf16");
  EXPECT_EQ(parent.layers[1].ffn_format.name, "fp8");
  EXPECT_EQ(parent.layers[10].mixer_format.name, "fp8");  // 1 is not a prefix of 10
  const Transformer part = excluded("self_attn");
  EXPECT_EQ(part.layers[7].mixer_format.name, "bf16");
  EXPECT_EQ(part.layers[7].ffn_format.name, "fp8");
  const Transformer wildcard = excluded("model.language_model.layers.1*");
  EXPECT_EQ(wildcard.layers[1].ffn_format.name, "bf16");
  EXPECT_EQ(wildcard.layers[11].ffn_format.name, "bf16");
  EXPECT_EQ(wildcard.layers[2].ffn_format.name, "fp8");
  const Transformer shared = excluded("re:.*shared_expert.*");
  EXPECT_EQ(shared.layers[3].shared_format.name, "bf16");
  EXPECT_EQ(shared.layers[3].ffn_format.name, "fp8");
  // Towers and draft blocks have layers too; they are not the language model's.
  EXPECT_EQ(excluded("vision_model.model.layers.1.self_attn").layers[1].mixer_format.name, "fp8");
  EXPECT_EQ(excluded("mtp.layers.0*").layers[0].mixer_format.name, "fp8");
  // "gate" is the router, not gate_proj.
  EXPECT_EQ(excluded("gate").layers[0].ffn_format.name, "fp8");
}

// As nvidia/DeepSeek-R1-NVFP4-v2's hf_quant_config.json: what attention has in 16 bits is excluded.
TEST(Quantization, TheOutputOfLatentAttentionMayHaveAFormatOfItsOwn) {
  json config = small_model("deepseek_v3");
  config.update({{"q_lora_rank", 96},
                 {"kv_lora_rank", 64},
                 {"qk_nope_head_dim", 64},
                 {"qk_rope_head_dim", 32},
                 {"v_head_dim", 64},
                 {"n_routed_experts", 16},
                 {"n_shared_experts", 1},
                 {"first_k_dense_replace", 1}});
  const auto with = [&](const json& excluded) {
    config["quantization_config"] = {{"quant_method", "modelopt_fp4"},
                                     {"quant_algo", "NVFP4"},
                                     {"group_size", 16},
                                     {"ignore", excluded}};
    return parse_model(config.dump(), {}, "config.json");
  };
  const Transformer second = with(
      {"lm_head", "*self_attn.q_a*", "*self_attn.q_b*", "*self_attn.kv_a*", "*self_attn.kv_b*"});
  for (const std::size_t layer : {0, 7}) {
    EXPECT_EQ(second.layers[layer].mixer_format.name, "bf16");
    EXPECT_EQ(output_format_of(second.layers[layer]).name, "nvfp4");
    EXPECT_EQ(second.layers[layer].ffn_format.name, "nvfp4");
  }
  EXPECT_TRUE(second.notes.empty());  // no block mixes formats
  const Transformer first = with({"lm_head", "*self_attn*"});
  EXPECT_EQ(output_format_of(first.layers[7]).name, "bf16");
}

TEST(Quantization, APatternOfOneDigitTellsLayersApart) {
  for (const char* pattern : {"model.layers.?.mlp", "re:.*layers.\\d\\.mlp.*", "layers.?.mlp*"}) {
    const Transformer model =
        quantised({{"quant_method", "fp8"}, {"modules_to_not_convert", {pattern}}});
    EXPECT_EQ(model.layers[9].ffn_format.name, "bf16") << pattern;
    EXPECT_EQ(model.layers[10].ffn_format.name, "fp8") << pattern;
    EXPECT_EQ(model.layers[9].mixer_format.name, "fp8") << pattern;
  }
}

TEST(Quantization, BlocksThatMixFormatsAverageTheirBits) {
  // k and v (64 * 2 rows each of the 8 * 64 + 2 * 64 + 2 * 64 of qkv, and o of 8 * 64) excluded.
  const Transformer model = quantised(
      {{"quant_method", "fp8"}, {"modules_to_not_convert", {"k_proj", "v_proj"}}}, "llama");
  const WeightFormat format = model.layers.front().mixer_format;
  EXPECT_EQ(format.name, "fp8");
  EXPECT_DOUBLE_EQ(format.bits_per_weight, (8.0 * 1024 + 16.0 * 256) / 1280);
  ASSERT_FALSE(model.notes.empty());
  EXPECT_THAT(model.notes.front(), HasSubstr("mix weight formats"));
}

TEST(Quantization, MixedPrecisionIsResolvedPerModule) {
  const json nvfp4 = {{"quant_algo", "NVFP4"}, {"group_size", 16}};
  const json fp8 = {{"quant_algo", "FP8"}};
  json layers = json::object();
  for (const char* const name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    layers["model.layers.0.self_attn." + std::string(name)] = fp8;
  }
  layers["model.layers.0.mlp.experts"] = nvfp4;
  layers["model.layers.1.mlp.experts.0.gate_proj"] = nvfp4;
  layers["model.layers.1.mlp.experts.0.up_proj"] = nvfp4;
  layers["model.layers.1.mlp.experts.0.down_proj"] = nvfp4;
  layers["lm_head"] = fp8;
  const Transformer model = quantised({{"quant_method", "modelopt"},
                                       {"quant_algo", "MIXED_PRECISION"},
                                       {"kv_cache_quant_algo", "FP8"},
                                       {"quantized_layers", layers}},
                                      "qwen2_moe");
  EXPECT_EQ(model.layers[0].mixer_format.name, "fp8");
  EXPECT_EQ(model.layers[0].ffn_format.name, "nvfp4");
  EXPECT_EQ(model.layers[0].shared_format.name, "bf16");
  EXPECT_EQ(model.layers[1].ffn_format.name, "nvfp4");
  EXPECT_EQ(model.layers[1].mixer_format.name, "bf16");
  EXPECT_EQ(model.lm_head_format.name, "fp8");
  EXPECT_EQ(model.kv_cache_dtype, DType::fp8);
}

TEST(Quantization, CacheDtypeInEachSpelling) {
  const auto cache = [](const std::string& key, const json& value) {
    return quantised({{"quant_method", "fp8"}, {key, value}}).kv_cache_dtype;
  };
  EXPECT_EQ(cache("kv_cache_quant_algo", "FP8"), DType::fp8);
  EXPECT_EQ(cache("kv_cache_scheme", "FP8"), DType::fp8);
  EXPECT_EQ(cache("kv_cache_scheme", {{"num_bits", 8}, {"type", "float"}}), DType::fp8);
  EXPECT_EQ(cache("kv_cache_scheme", {{"num_bits", 8}, {"type", "int"}}), DType::int8);
  EXPECT_EQ(cache("kv_cache_quant_algo", "NVFP4"), DType::fp4);
  EXPECT_EQ(cache("kv_cache_scheme", nullptr), std::nullopt);
}

TEST(Quantization, HostileExpressionsAreRefusedOrHarmless) {
  const auto with = [](const std::string& pattern) {
    return json{
        {"quant_method", "compressed-tensors"},
        {"config_groups",
         {{"g", {{"targets", {"Linear"}}, {"weights", {{"num_bits", 8}, {"type", "int"}}}}}}},
        {"ignore", {pattern}}};
  };
  EXPECT_THAT(error_of(with("re:" + std::string(1'000, 'a'))), HasSubstr("too long"));
  EXPECT_THAT(error_of(with("re:(unclosed")),
              HasSubstr("ignore: '(unclosed' is not a supported regular"));
  EXPECT_THAT(error_of(with("re:a{100000}{100000}")),
              HasSubstr("not a supported regular expression"));
  EXPECT_EQ(error_of(with("re:(.*.*.*)*x")), "accepted");  // must not take exponential time
  EXPECT_EQ(error_of(with("re:(m|o|d|e|l|.)+[0-9]+y")), "accepted");
  EXPECT_EQ(error_of(with(std::string(200, '*') + "z")), "accepted");
}

TEST(ModulePatterns, GlobsMatchWholeNames) {
  EXPECT_TRUE(glob_matches("layers.0*", "layers.0.mlp"));
  EXPECT_TRUE(glob_matches("*.attn.*", "layers.3.attn.wq_a"));
  EXPECT_TRUE(glob_matches("layers.?.mlp", "layers.7.mlp"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_FALSE(glob_matches("layers.0", "layers.0.mlp"));
  EXPECT_FALSE(glob_matches("*.attn", "layers.3.attn.wq_a"));
  EXPECT_FALSE(glob_matches("", "a"));
}

TEST(ModulePatterns, KnowTheLongestTextThatAMatchMustContain) {
  EXPECT_EQ(literal_in(".*lm_head"), "lm_head");
  EXPECT_EQ(literal_in(".*self_attn.*"), "self_attn");
  EXPECT_EQ(literal_in("vision_model.*"), "vision_model");
  EXPECT_EQ(literal_in(".*mlp\\.(gate|up|gate_up|down)_proj.*"), "_proj");
  EXPECT_EQ(literal_in("layers[.]0[.]mlp"), "layers");
  EXPECT_EQ(literal_in("a|bcd"), "");    // either
  EXPECT_EQ(literal_in("abc|(d)"), "");  // either
  EXPECT_EQ(literal_in("abc?d"), "ab");  // c may be absent
  EXPECT_EQ(literal_in("ab{0}c"), "a");
  EXPECT_EQ(literal_in("\\d+\\w"), "");
  EXPECT_EQ(literal_in(""), "");
}

TEST(ModulePatterns, AnExpressionThatIsALiteralWithAnythingAroundItIsRecognised) {
  const auto is_literal = [](const char* expression) {
    return matches_wherever(expression, literal_in(expression));
  };
  EXPECT_TRUE(is_literal(".*self_attn.*"));
  EXPECT_TRUE(is_literal(".*lm_head"));        // the end of a match need not be the end of the name
  EXPECT_FALSE(is_literal("vision_model.*"));  // from the start of the name alone
  EXPECT_FALSE(is_literal(".*mlp\\.down_proj.*"));  // "." is one character, "\\." two
  EXPECT_FALSE(is_literal(".*(gate|up)_proj.*"));
  EXPECT_FALSE(is_literal(".*"));
}

TEST(ModulePatterns, SayWhetherTheyMayTellLayersApart) {
  const auto apart = [](const char* pattern) {
    ModulePatterns patterns;
    patterns.add(pattern, "config.json");
    return patterns.tell_layers_apart();
  };
  EXPECT_FALSE(ModulePatterns{}.tell_layers_apart());
  EXPECT_FALSE(apart("model.layers.*.self_attn"));
  EXPECT_FALSE(apart("gate"));
  EXPECT_FALSE(apart("re:.*mlp\\.(gate|up)_proj.*"));
  EXPECT_TRUE(apart("model.layers.3.self_attn"));
  EXPECT_TRUE(apart("layers.?.mlp"));
  EXPECT_TRUE(apart("re:.*layers..\\.mlp"));  // one character, so not 10
  EXPECT_TRUE(apart("re:.*\\d\\.mlp"));
  EXPECT_TRUE(apart("re:.*[0-4]\\.mlp"));
  EXPECT_TRUE(apart("re:model.layers.*mlp$"));
}

TEST(ModulePatterns, PrefixesOfTheLanguageModelAreDropped) {
  EXPECT_EQ(without_model_prefix("model.language_model.layers.3.mlp"), "layers.3.mlp");
  EXPECT_EQ(without_model_prefix("language_model.model.layers.3.mlp"), "layers.3.mlp");
  EXPECT_EQ(without_model_prefix("backbone.layers.3.mixer"), "layers.3.mixer");
  EXPECT_EQ(without_model_prefix("vision_model.model.layers.3"), "vision_model.model.layers.3");
  EXPECT_EQ(without_model_prefix("language_model.lm_head"), "lm_head");
}

TEST(Requantise, ReplacesACheckpointsFormat) {
  Transformer model = quantised({{"quant_method", "fp8"}});
  requantise(model, "awq");
  EXPECT_EQ(model.layers.front().mixer_format.name, "awq");
  EXPECT_EQ(model.lm_head_format.name, "bf16");
  EXPECT_THROW(requantise(model, "fp3"), Error);
}

}  // namespace
}  // namespace roofcast

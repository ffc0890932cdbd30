#include "roofcast/models.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/roofcast/read_back.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

void expect_round_trip(const ModelAnswer& answer) {
  test::read_back(answer, model_answer_from_json, model_answer_schema());
}

// LLaMA-2-70B, published in fp16: 80 layers of 855,654,400 parameters (attention 2 * 8,192^2 +
// 2 * 8,192 * 1,024, FFN 3 * 8,192 * 28,672, two norms of 8,192), two embeddings of 32,000 * 8,192
// and a norm: 68,976,648,192. K and V: 2 * 80 layers * 8 heads * 128 * 2 bytes = 327,680 a token.
TEST(DescribeModel, KnowsLlama2) {
  const ModelAnswer answer = describe_model({.model = "llama-2-70b"});
  EXPECT_EQ(answer.parameters_total, 68'976'648'192);
  EXPECT_EQ(answer.weight_bytes, 137'953'296'384);
  EXPECT_EQ(answer.kv_bytes_per_token, 327'680);
  EXPECT_EQ(answer.max_context_tokens, 4096);
  ASSERT_EQ(answer.layers.size(), 1U);
  EXPECT_EQ(answer.layers.front().count, 80);
  EXPECT_EQ(answer.layers.front().mixer, "attention 64/8 heads x 128, fp16");
  EXPECT_EQ(answer.layers.front().ffn, "dense 28672, gated, fp16");
  std::int64_t parts = 0;
  for (const ModelWeights& weights : answer.weights) parts += weights.bytes;
  EXPECT_EQ(parts, answer.weight_bytes);
  expect_round_trip(answer);
}

TEST(DescribeModel, TakesTheWeightsInAnotherFormat) {
  const ModelAnswer answer = describe_model({.model = "llama-2-70b", .weight_format = "fp8"});
  EXPECT_EQ(answer.layers.front().ffn, "dense 28672, gated, fp8");
  EXPECT_LT(answer.weight_bytes, 137'953'296'384 * 6 / 10);
}

// What is excluded from four bits leaves a projection's parts with other bits under one name; only
// another format of the output projection is worth a word.
TEST(DescribeModel, NamesTheFormatOfAnOutputProjectionIfItIsAnother) {
  nlohmann::json config = {{"architectures", {"DeepseekV3ForCausalLM"}},
                           {"model_type", "deepseek_v3"},
                           {"hidden_size", 512},
                           {"intermediate_size", 1024},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 8},
                           {"num_key_value_heads", 8},
                           {"vocab_size", 1000},
                           {"max_position_embeddings", 4096},
                           {"torch_dtype", "bfloat16"},
                           {"q_lora_rank", 96},
                           {"kv_lora_rank", 64},
                           {"qk_nope_head_dim", 64},
                           {"qk_rope_head_dim", 32},
                           {"v_head_dim", 64},
                           {"n_routed_experts", 16},
                           {"num_experts_per_tok", 2},
                           {"moe_intermediate_size", 256},
                           {"n_shared_experts", 1},
                           {"first_k_dense_replace", 1}};
  const test::TemporaryFolder folder;
  const auto mixer = [&](const nlohmann::json& excluded) {
    config["quantization_config"] = {{"quant_method", "modelopt_fp4"},
                                     {"quant_algo", "NVFP4"},
                                     {"group_size", 16},
                                     {"ignore", excluded}};
    const std::string path = folder.write("config.json", config.dump());
    return describe_model({.model = path}).layers.front().mixer;
  };
  const std::string kind = "latent attention 8 heads, cache 64+32, ";
  EXPECT_EQ(mixer({"lm_head", "model.layers.0.self_attn.q_a_proj"}), kind + "nvfp4");
  EXPECT_EQ(mixer({"lm_head", "*self_attn.q_a*", "*self_attn.q_b*", "*self_attn.kv_a*",
                   "*self_attn.kv_b*"}),
            kind + "bf16 (output projection nvfp4)");
}

TEST(DescribeModel, RoundTripsEveryKindOfModel) {
  for (const char* model : {"deepseek-v3", "gemma-3-27b", "nemotron-h-56b", "llama-4-scout",
                            "qwen3-next-80b-a3b", "minimax-text-01", "gpt2"}) {
    expect_round_trip(describe_model({.model = model}));
  }
}

TEST(ListModels, HasEachModelAsItIsDescribed) {
  const ModelListAnswer list = list_models();
  const auto entry =
      std::find_if(list.models.begin(), list.models.end(),
                   [](const ModelListEntry& one) { return one.name == "llama-2-70b"; });
  ASSERT_NE(entry, list.models.end());
  EXPECT_EQ(entry->parameters_total, 68'976'648'192);
  EXPECT_EQ(entry->parameters_active, entry->parameters_total);  // it has no experts
  EXPECT_EQ(entry->weight_bytes, 137'953'296'384);
  EXPECT_EQ(entry->kv_bytes_per_token, 327'680);
  EXPECT_EQ(entry->max_context_tokens, 4096);
  test::read_back(list, model_list_answer_from_json, model_list_answer_schema());
}

}  // namespace
}  // namespace roofcast

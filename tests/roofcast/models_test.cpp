#include "roofcast/models.hpp"

#include "tests/roofcast/round_trip.hpp"

namespace roofcast {
namespace {

void expect_round_trip(const ModelAnswer& answer) {
  test::expect_round_trip(answer, model_answer_schema(), model_answer_from_json);
}

// LLaMA-2-70B: 68,976,648,192 parameters (its safetensors index: 137,953,296,384 bytes of 16-bit
// weights); 2 * 80 layers * 8 KV heads * 128 * 2 bytes of K and V a token.
TEST(DescribeModel, KnowsLlama2) {
  const ModelAnswer answer = describe_model({.model = "llama-2-70b"});
  EXPECT_EQ(answer.parameters_total, 68'976'648'192);
  EXPECT_EQ(answer.weight_bytes, 137'953'296'384);
  EXPECT_EQ(answer.kv_bytes_per_token, 327'680);
  EXPECT_EQ(answer.max_context_tokens, 4096);
  ASSERT_EQ(answer.layers.size(), 1U);
  EXPECT_EQ(answer.layers.front().count, 80);
  EXPECT_EQ(answer.layers.front().mixer, "attention 64/8 heads x 128, bf16");
  EXPECT_EQ(answer.layers.front().ffn, "dense 28672, gated, bf16");
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

TEST(DescribeModel, RoundTripsEveryKindOfModel) {
  for (const char* model : {"deepseek-v3", "gemma-3-27b", "nemotron-h-56b", "llama-4-scout",
                            "qwen3-next-80b-a3b", "minimax-text-01", "gpt2"}) {
    expect_round_trip(describe_model({.model = model}));
  }
}

TEST(ListModels, HasEachModelAsItIsDescribed) {
  const ModelListAnswer list = list_models();
  ASSERT_FALSE(list.models.empty());
  for (const ModelListEntry& entry : list.models) {
    const ModelAnswer model = describe_model({.model = entry.name});
    EXPECT_EQ(entry.parameters_total, model.parameters_total) << entry.name;
    EXPECT_EQ(entry.weight_bytes, model.weight_bytes) << entry.name;
    EXPECT_EQ(entry.kv_bytes_per_token, model.kv_bytes_per_token) << entry.name;
  }
  test::expect_round_trip(list, model_list_answer_schema(), model_list_answer_from_json);
}

}  // namespace
}  // namespace roofcast

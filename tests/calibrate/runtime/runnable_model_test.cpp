#include "calibrate/runtime/runnable_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/io/model_reader.hpp"
#include "tests/calibrate/runtime/tiny_models.hpp"

namespace roofcast::runtime {
namespace {

using kernels::Element;

TEST(RunnableModel, HoldsAsManyBytesAsTheModelCounts) {
  const Transformer llama = load_model("llama-3.1-8b");
  const RunnableModel model = runnable_model(llama, Element::bf16, {});
  EXPECT_EQ(model.layers.size(), 32U);
  EXPECT_EQ(model.layers[0].attention.qkv_width(), 4096 + 2 * 1024);
  EXPECT_DOUBLE_EQ(weight_bytes(model), roofcast::weight_bytes(llama, {}).value);
  EXPECT_THAT(model.left_out, testing::IsEmpty());
  // 2 * 32 layers * 8 heads * 128 * 2 bytes
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(model), 131072);
}

TEST(RunnableModel, CountsTheExpertsThatATokenUses) {
  // Mixtral: 32 layers of 4096 x 4096 x 2 + 4096 x 1024 x 2 attention, 2 of 8 experts of
  // 3 x 4096 x 14336, a router of 4096 x 8; LM head of 32000 x 4096.
  const RunnableModel model = runnable_model(load_model("mixtral-8x7b"), Element::bf16, {});
  const double attention = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024;
  const double layer = attention + 2 * 3.0 * 4096 * 14336 + 4096 * 8;
  EXPECT_DOUBLE_EQ(multiplied_parameters(model), 32 * layer + 32000.0 * 4096);
}

TEST(RunnableModel, AStepReadsTheExpertsThatItsTokensPick) {
  // 6 experts of 3 x 32 x 16, 2 a token, in each of two layers, 4 bytes: one token reads 2, two
  // 6 * (1 - (2/3)^2) = 10/3, many all; and no operator reads the whole embedding table of 101
  // x 32.
  const RunnableModel model = test::tiny_experts();
  const double experts = 2 * 4.0 * 3 * 32 * 16;
  const double all = weight_bytes(model) - 4.0 * 101 * 32;
  EXPECT_NEAR(step_weight_bytes(model, 1), all - 4 * experts, 1e-6);
  EXPECT_NEAR(step_weight_bytes(model, 2), all - (6 - 10.0 / 3) * experts, 1e-6);
  EXPECT_NEAR(step_weight_bytes(model, 1000), all, 1e-6);
  const RunnableModel dense = test::tiny_dense();
  EXPECT_DOUBLE_EQ(step_weight_bytes(dense, 1), weight_bytes(dense) - 4.0 * 101 * 32);
}

TEST(RunnableModel, AWindowBoundsWhatATokenAttendsTo) {
  // Keys and values of 2 x 16 elements, 4 bytes: 5 tokens in the layer with the window, 8 in the
  // other; all 3 in both while the window is not full.
  const RunnableModel model = test::tiny_windowed();
  EXPECT_DOUBLE_EQ(attended_kv_bytes(model, 8), (5 + 8) * 2 * 32 * 4.0);
  EXPECT_DOUBLE_EQ(attended_kv_bytes(model, 3), 3 * kv_bytes_per_token(model));
}

TEST(RunnableModel, CutsToItsFirstLayers) {
  const Transformer llama = load_model("llama-3.1-8b");
  EXPECT_EQ(runnable_model(llama, Element::bf16, 3).layers.size(), 3U);
  EXPECT_THROW(runnable_model(llama, Element::bf16, 0), Error);
  EXPECT_THROW(runnable_model(llama, Element::bf16, 33), Error);
}

TEST(RunnableModel, NamesWhatItLeavesOut) {
  const RunnableModel gpt2 = runnable_model(load_model("gpt2"), Element::fp32, {});
  EXPECT_FALSE(gpt2.rotary);
  EXPECT_THAT(gpt2.left_out, testing::Contains("learned positions"));
  const RunnableModel qwen = runnable_model(load_model("qwen3-8b"), Element::bf16, {});
  EXPECT_THAT(qwen.left_out, testing::Contains("norms of queries and keys"));
}

TEST(RunnableModel, RefusesWhatItCannotRunByName) {
  const auto refusal = [](const char* name) {
    try {
      runnable_model(load_model(name), Element::bf16, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal("deepseek-v3"), testing::HasSubstr("latent attention"));
  EXPECT_THAT(refusal("nemotron-h-56b"), testing::HasSubstr("without attention"));
  EXPECT_THAT(refusal("llama-4-scout"), testing::HasSubstr("chunked"));
}

TEST(RunnableModel, SlidingLayersKeepTheirWindow) {
  const RunnableModel gemma = runnable_model(load_model("gemma-2-9b"), Element::bf16, {});
  EXPECT_EQ(gemma.layers[0].attention.window, 4096);
  EXPECT_EQ(gemma.layers[1].attention.window, 0);
}

}  // namespace
}  // namespace roofcast::runtime

#include "planner/scenario/sizing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {
namespace {

DeploymentOptions on_h100(const std::string& model) { return {.model = model, .gpu = "h100"}; }

// LLaMA-2-70B has 137.95 GB of weights and 327,680 bytes of K and V per token. An H100 reports 85
// GB, of which vLLM uses 9/10. One GPU cannot hold the weights; two have a few GB each left after
// 69 GB of weights, enough for a sequence of 4,096 tokens (0.67 GB each) but not for 30 (20 GB
// each); four have some 40 GB each left after 34.5, enough for 30 (10 GB each).
TEST(SmallestTensorParallel, GrowsWithWhatMustFit) {
  const auto tensor = [](std::int64_t batch, std::optional<std::int64_t> context) {
    const auto found = smallest_tensor_parallel(on_h100("llama-2-70b"), context, batch);
    return found ? found->parallel.tensor : 0;
  };
  EXPECT_EQ(tensor(1, std::nullopt), 2);
  EXPECT_EQ(tensor(30, 4096), 4);
  EXPECT_EQ(tensor(30, 512), 2);          // 2.5 GB each
  EXPECT_EQ(tensor(1'000'000, 4096), 0);  // 1.3 PB
}

TEST(SmallestTensorParallel, IgnoresTheDegreeGiven) {
  DeploymentOptions options = on_h100("llama-2-70b");
  options.parallel.tensor = 8;
  const auto found = smallest_tensor_parallel(options, {}, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->parallel.tensor, 2);
}

// Falcon-7B has 71 query heads, which no other power of two divides.
TEST(SmallestTensorParallel, PassesOverDegreesThatCannotShardTheModel) {
  const auto found = smallest_tensor_parallel(on_h100("falcon-7b"), {}, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->parallel.tensor, 1);
  EXPECT_FALSE(smallest_tensor_parallel(on_h100("falcon-7b"), {}, 10'000'000));
}

TEST(SmallestTensorParallel, RefusesAQuestionWithoutAGpu) {
  EXPECT_THROW(smallest_tensor_parallel({.model = "falcon-7b"}, {}, 1), UsageError);
}

TEST(FormatVariants, ChangeOnlyTheFormats) {
  DeploymentOptions options = on_h100("llama-2-70b");
  options.parallel.tensor = 4;
  const std::vector<FormatVariant> variants = format_variants(options);
  std::vector<std::string> names;
  for (const FormatVariant& variant : variants) {
    names.push_back(variant.name);
    EXPECT_EQ(variant.options.model, "llama-2-70b");
    EXPECT_EQ(variant.options.parallel.tensor, 4);
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("as given", "bf16 weights", "fp8 weights", "awq weights",
                                     "fp8 KV cache", "fp8 weights and KV cache"));
  EXPECT_FALSE(variants[0].options.weight_format);
  EXPECT_EQ(variants[3].options.weight_format, "awq");
  EXPECT_FALSE(variants[3].options.overrides.kv_cache_dtype);
  EXPECT_FALSE(variants[4].options.weight_format);
  EXPECT_EQ(variants[4].options.overrides.kv_cache_dtype, DType::fp8);
  EXPECT_EQ(variants[5].options.weight_format, "fp8");
  EXPECT_EQ(variants[5].options.overrides.kv_cache_dtype, DType::fp8);
}

/// The complaint about an 8B model in a format on a GPU; empty if it runs.
std::string complaint(const std::string& gpu, const std::string& format) {
  try {
    resolve({.model = "llama-3.1-8b", .gpu = gpu, .weight_format = format});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// vLLM's table "Supported Hardware": on Volta (7.0) GPTQ, but neither AWQ, FP8 nor Marlin; on
// Turing (7.5) AWQ and GPTQ, and fp8 by Marlin in later versions. 16-bit weights run on both.
TEST(Formats, ThoseWithoutKernelsOnVoltaAreRefusedThereAlone) {
  for (const char* format : {"fp8", "awq", "nvfp4", "mxfp4"}) {
    EXPECT_THAT(complaint("v100", format),
                ::testing::AllOf(::testing::HasSubstr(format),
                                 ::testing::HasSubstr("expected `quantization` gptq, or 16-bit")));
  }
  for (const char* format : {"gptq", "fp16"}) EXPECT_EQ(complaint("v100", format), "") << format;
  for (const char* format : {"fp8", "awq", "gptq", "fp16"}) {
    EXPECT_EQ(complaint("t4", format), "") << format;
  }
}

}  // namespace
}  // namespace roofcast

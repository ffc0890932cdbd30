#include "model/step/version_terms.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/dotted_version.hpp"
#include "model/engines/engine.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/step_estimate.hpp"
#include "model/step/step_work.hpp"

namespace roofcast {
namespace {

constexpr Parallelism kEightRanks{.tensor = 8};

Deployment deepseek_on(const char* gpu, const char* engine) {
  Deployment d{
      .model = load_model("deepseek-r1"), .gpu = load_gpu(gpu).gpu, .parallel = kEightRanks};
  d.engine = resolve_engine(engine, {}, d.model, d.gpu, d.parallel);
  return d;
}

OperatorShape latents_product() {
  return {.family = OperatorFamily::gemm, .format = "fp8_block", .outputs = 2112, .inputs = 7168};
}

double least_us(const char* gpu, const char* engine, const OperatorShape& shape) {
  return least_product_time(deepseek_on(gpu, engine), shape).value * 1e6;
}

TEST(VersionTerms, ATermHoldsForItsVersionsOnItsChipAlone) {
  const OperatorShape product = latents_product();
  EXPECT_DOUBLE_EQ(least_us("mi300x", "sglang-0.5.6", product), 117);
  EXPECT_DOUBLE_EQ(least_us("mi325x", "sglang-0.5.9", product), 117);
  EXPECT_EQ(least_us("mi300x", "sglang-0.5.5", product), 0);
  EXPECT_EQ(least_us("mi300x", "sglang-0.5.10", product), 0);
  EXPECT_EQ(least_us("mi300x", "sglang-0.5.12", product), 0);
  EXPECT_EQ(least_us("mi355x", "sglang-0.5.9", product), 0);
  EXPECT_EQ(least_us("mi300x", "vllm-0.19", product), 0);
  OperatorShape other = product;
  other.inputs = 2048;
  EXPECT_EQ(least_us("mi300x", "sglang-0.5.9", other), 0);
}

TEST(VersionTerms, AVersionThatIsNotStatedExactlyHasNone) {
  EXPECT_EQ(least_us("mi300x", "sglang", latents_product()), 0);
  EXPECT_EQ(least_us("mi300x", "sglang-0.5", latents_product()), 0);
}

TEST(VersionTerms, EveryRowHasASourceAndARange) {
  for (const UntunedProduct& row : untuned_products()) {
    EXPECT_TRUE(is_older(row.from, row.before)) << row.source;
    EXPECT_GT(row.least.value, 0);
    EXPECT_FALSE(row.source.empty());
  }
}

// 61 layers have the product once. At 4 sequences it takes far less than 117 us by the efficiency
// of AITER's kernels, so a step of 0.5.9 has 61 x 117 us = 7.137 ms of it, and everything else as
// 0.5.12.
TEST(VersionTerms, AStepTakesAsMuchLonger) {
  const auto estimate_of = [](const char* engine) {
    const Deployment d = deepseek_on("mi300x", engine);
    return RooflineStepTime(d).explain(decode_batch(d.model, 4, 1000));
  };
  const auto time_of_product = [](const StepEstimate& step) {
    for (const OperatorEstimate& op : step.operators) {
      if (op.work.name == "qkv_a_proj") return op.time.value;
    }
    return 0.0;
  };
  const StepEstimate untuned = estimate_of("sglang-0.5.9");
  const StepEstimate tuned = estimate_of("sglang-0.5.12");
  EXPECT_NEAR(time_of_product(untuned), 61 * 117e-6, 1e-9);
  EXPECT_LT(time_of_product(tuned), 61 * 30e-6);
  EXPECT_NEAR(untuned.total.value - tuned.total.value,
              time_of_product(untuned) - time_of_product(tuned), 1e-6);
}

}  // namespace
}  // namespace roofcast

#include "model/step/image_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/io/model_reader.hpp"
#include "model/step/step_estimate.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using test::deployment_of;
using test::round_gpu;

Work named(const std::vector<Work>& list, const char* name) {
  const auto found = std::ranges::find(list, name, &Work::name);
  return found == list.end() ? Work{} : *found;
}

// Qwen3-VL-8B: 27 layers of 4 x 1152 x 1153 + 1152 x 4305 + 4304 x 1153 - 1 + 4 x 1152 parameters
// (biases and norms among them), of which an image of 1,024 tokens has 4,096 patches; the mergers
// join four: 4608 x 4609 + 4608 x 4096 + 4096 each, with norms of 2 x 1152 and 3 x 2 x 4608.
constexpr double kLayer =
    4.0 * 1152 * 1153 + 1152.0 * 4304 + 4304 + 4304.0 * 1152 + 1152 + 4 * 1152;
constexpr double kMergers = 4 * (4608.0 * 4609 + 4608.0 * 4096 + 4096) + 2 * 1152 + 3 * 2 * 4608;

TEST(ImageWork, IsTheMatricesAndAttentionOfTheEncoder) {
  const Deployment one = deployment_of(load_model("qwen3-vl-8b"), round_gpu());
  const std::vector<Work> work = image_work(one, 1, 1024);
  EXPECT_DOUBLE_EQ(named(work, "vision.matrices").flops.value,
                   2 * (27 * kLayer * 4096 + kMergers * 1024));
  EXPECT_DOUBLE_EQ(named(work, "vision.attention").flops.value, 4.0 * 4096 * 4096 * 1152 * 27);
  // 14 passes over states of 1,152 and 2 over 4,304 elements of 2 bytes.
  EXPECT_DOUBLE_EQ(named(work, "vision.memory_bound").bytes.value,
                   27.0 * 4096 * 2 * (14 * 1152 + 2 * 4304));
  // Patches attend within their image.
  const std::vector<Work> two = image_work(one, 2, 1024);
  EXPECT_DOUBLE_EQ(named(two, "vision.attention").flops.value,
                   2 * named(work, "vision.attention").flops.value);
  const Deployment shared = deployment_of(load_model("qwen3-vl-8b"), round_gpu(), {.tensor = 2});
  const std::vector<Work> half = image_work(shared, 1, 1024);
  EXPECT_DOUBLE_EQ(named(half, "vision.matrices").flops.value,
                   named(work, "vision.matrices").flops.value / 2);
  EXPECT_EQ(named(half, "vision.all_reduce").calls, 2 * 27);
}

// Llama 4 cuts an image into tiles of 24 x 24 patches, four of which are a token; Gemma 3 has 256
// tokens of 64 x 64 patches, and is itself a tile.
TEST(ImageWork, AttendsWithinTilesAndWindows) {
  const Deployment scout = deployment_of(load_model("llama-4-scout"), round_gpu());
  EXPECT_DOUBLE_EQ(named(image_work(scout, 1, 17 * 144), "vision.attention").flops.value,
                   4.0 * (17 * 576) * 576 * 1408 * 34);
  const Deployment gemma = deployment_of(load_model("gemma-3-27b"), round_gpu());
  EXPECT_DOUBLE_EQ(named(image_work(gemma, 1, 256), "vision.attention").flops.value,
                   4.0 * 4096 * 4096 * 1152 * 27);
  // Qwen2.5-VL: 4 of 32 layers see the image, the others windows of 8 x 8 patches.
  Deployment windows = deployment_of(test::llama_3_1_8b(), round_gpu());
  windows.model.vision = {.layers = 32,
                          .width = 1280,
                          .intermediate = 3420,
                          .patch_parameters = 1,
                          .patches_per_token = 4,
                          .windowed_layers = 28,
                          .window_patches = 64};
  EXPECT_DOUBLE_EQ(named(image_work(windows, 1, 1024), "vision.attention").flops.value,
                   4.0 * 4096 * 1280 * (4 * 4096 + 28 * 64));
}

TEST(ImageWork, IsNoneWithoutAnEncoderOrImages) {
  EXPECT_TRUE(image_work(deployment_of(test::llama_3_1_8b(), round_gpu()), 1, 1024).empty());
  EXPECT_TRUE(image_work(deployment_of(load_model("qwen3-vl-8b"), round_gpu()), 0, 1024).empty());
}

// 27 layers of 11 operators, 25 us each, are longer than the kernels of an image of one token.
TEST(ImageTime, IsNoLessThanItsLaunches) {
  const Deployment one = deployment_of(load_model("qwen3-vl-8b"), round_gpu());
  EXPECT_DOUBLE_EQ(image_time(one, 1, 1).value, 27 * 11 * 25e-6);
  // 3.7 TFLOP at 100 TFLOP/s or less.
  EXPECT_GT(image_time(one, 1, 1024).value, 0.037);
}

TEST(ImageTime, IsAddedToTheFirstStage) {
  for (const int stages : {1, 2}) {
    const Deployment deployment =
        deployment_of(load_model("qwen3-vl-8b"), round_gpu(), {.pipeline = stages});
    const RooflineStepTime times(deployment);
    StepBatch batch = prefill_batch(1, 2048);
    StagedTime text, images;
    times.divide(batch, text);
    const Seconds before = times.seconds(batch);
    batch.images = 2;
    batch.image_tokens = 1024;
    times.divide(batch, images);
    const double more = image_time(deployment, 2, 1024).value;
    EXPECT_NEAR((times.seconds(batch) - before).value, more, 1e-9);
    EXPECT_NEAR((images.stages.front() - text.stages.front()).value, more, 1e-9);
    EXPECT_EQ(times.seconds(batch).value, times.explain(batch).total.value);
  }
}

}  // namespace
}  // namespace roofcast

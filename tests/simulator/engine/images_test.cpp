// Images are encoded in the step that computes their first token.
#include <gtest/gtest.h>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

// 130 tokens in chunks of 60, with images at 10 and 60: the first begins in the first chunk, the
// second in the second (60 to 119), none in the last. Steps take 1 s, and 10 s an image.
TEST(ImagesOfAPrompt, AreEncodedWhereTheyBegin) {
  for (const SchedulerKind scheduler : {SchedulerKind::vllm_v1, SchedulerKind::sglang}) {
    Engine engine = plain_engine();
    engine.scheduler = scheduler;
    engine.max_num_batched_tokens = 60;
    std::vector<std::int64_t> images;
    const FakeStepTime step_time([&](const StepBatch& batch) {
      images.push_back(batch.images);
      EXPECT_TRUE(batch.images == 0 || batch.image_tokens == 50);
      return Seconds{1.0 + 10.0 * static_cast<double>(batch.images)};
    });
    Workload workload;
    workload.requests.push_back({.arrival = 0,
                                 .input_tokens = 130,
                                 .output_tokens = 2,
                                 .images = 2,
                                 .image_tokens = 50,
                                 .images_begin = 10});
    const SimulationResult result = simulate(replica_of(engine, step_time, 100, 10), workload,
                                             {.engine_kind = EngineKind::plain});
    EXPECT_EQ(images, (std::vector<std::int64_t>{1, 1, 0, 0}));
    EXPECT_EQ(result.requests[0].first_token, 23 * kSecond);
    EXPECT_EQ(result.requests[0].finished, 24 * kSecond);
  }
}

}  // namespace
}  // namespace roofcast::test

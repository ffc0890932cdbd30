// Tokens that the server holds back and sends in chunks (stream_interval).
#include <gtest/gtest.h>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

/// The gaps of one request of one token in and eight out, one each second.
SimulationResult streamed(SchedulerKind scheduler, std::int64_t interval, EngineKind kind) {
  Engine engine = plain_engine();
  engine.scheduler = scheduler;
  engine.stream_interval = interval;
  const FakeStepTime step_time(Seconds{1});
  return simulate(roomy_replica(engine, step_time), batch_of({{1, 8}}), {.engine_kind = kind});
}

void expect_gaps(SchedulerKind scheduler, double mean, std::int64_t longest) {
  for (const EngineKind kind : {EngineKind::fast, EngineKind::plain}) {
    const SimulationResult result = streamed(scheduler, 3, kind);
    EXPECT_EQ(result.itl.count, 3U);
    EXPECT_NEAR(result.itl.mean, mean, 1e-12);
    EXPECT_EQ(result.requests[0].largest_gap, longest * kSecond);
    // Chunks change neither the first token nor the last.
    EXPECT_EQ(result.requests[0].first_token, 1 * kSecond);
    EXPECT_EQ(result.requests[0].finished, 8 * kSecond);
  }
}

TEST(Streaming, VllmAndSglangSendTheFirstTokenAndEveryThirdAfterIt) {
  // Tokens 1, 4, 7 and the last: after 3, 3 and 1 s.
  expect_gaps(SchedulerKind::vllm_v1, 7.0 / 3.0, 3);
  expect_gaps(SchedulerKind::sglang, 7.0 / 3.0, 3);
}

TEST(Streaming, TensorrtSendsTheFirstTokenAndMultiplesOfThree) {
  // Tokens 1, 3, 6 and the last: after 2, 3 and 2 s.
  const SimulationResult result = streamed(SchedulerKind::tensorrt_llm, 3, EngineKind::fast);
  EXPECT_DOUBLE_EQ(result.itl.p50, 2.0);
  expect_gaps(SchedulerKind::tensorrt_llm, 7.0 / 3.0, 3);
}

TEST(Streaming, OneTokenAtATimeIsTheDefault) {
  const SimulationResult result = streamed(SchedulerKind::vllm_v1, 1, EngineKind::fast);
  EXPECT_EQ(result.itl.count, 7U);
  EXPECT_DOUBLE_EQ(result.itl.max, 1.0);
}

}  // namespace
}  // namespace roofcast::test

#include "simulator/results/saturation.hpp"

#include <gmock/gmock.h>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

/// One slot and one token per request: the capacity is one request per second.
SaturationVerdict verdict_at(double rate, std::int64_t requests, std::uint64_t seed) {
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.max_num_seqs = 1;
  SyntheticWorkload spec{.num_prompts = requests, .request_rate = rate};
  spec.input = spec.output = {LengthDistribution::Kind::fixed, 1, 0};
  return simulate(roomy_replica(engine, step_time), generate(spec, seed), {}).saturation;
}

TEST(Saturation, HalfTheCapacityIsSustainable) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto verdict = verdict_at(0.5, 1000, seed);
    EXPECT_FALSE(verdict.saturated) << verdict.reason;
    EXPECT_THAT(verdict.reason, HasSubstr("keeps up"));
  }
}

TEST(Saturation, NinetyPercentOfTheCapacityIsSustainable) {
  // Random backlog at this load has a standard deviation of about 10 requests, against the 45 of
  // the threshold (twice the root of 500).
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_FALSE(verdict_at(0.9, 1000, seed).saturated);
  }
}

TEST(Saturation, OneAndAHalfTimesTheCapacityIsNot) {
  // Of 500 arrivals in the second half a third, 167, are left over.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto verdict = verdict_at(1.5, 1000, seed);
    EXPECT_TRUE(verdict.saturated);
    EXPECT_THAT(verdict.reason, HasSubstr("beyond saturation"));
    EXPECT_THAT(verdict.reason, HasSubstr("waiting in the queue"));
    EXPECT_GT(verdict.queueing_share, 0.9);
  }
}

TEST(Saturation, ALongerRunFindsASmallerExcess) {
  // 10 % beyond the capacity: of 5,000 arrivals in the second half 455 are left over, against a
  // threshold of 250 (5 %).
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_TRUE(verdict_at(1.1, 10'000, seed).saturated);
}

TEST(Saturation, AClientsLimitBelowTheLoadIsNamedAsSuch) {
  // One request at a time, each a second, against 1.5 a second: the engine itself has room.
  const FakeStepTime step_time(Seconds{1});
  SyntheticWorkload spec{.num_prompts = 1000, .request_rate = 1.5};
  spec.input = spec.output = {LengthDistribution::Kind::fixed, 1, 0};
  const auto result =
      simulate(roomy_replica(plain_engine(), step_time), generate(spec, 1), {.max_concurrency = 1});
  EXPECT_TRUE(result.saturation.saturated);
  EXPECT_THAT(result.saturation.reason, HasSubstr("client's concurrency limit"));
}

TEST(Saturation, ASingleRequestIsNoRate) {
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(roomy_replica(plain_engine(), step_time), batch_of({{10, 1}}), {});
  EXPECT_THAT(result.saturation.reason, HasSubstr("a single request"));
}

TEST(Saturation, ABatchIsNotARate) {
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(roomy_replica(plain_engine(), step_time),
                               batch_of(std::vector<Lengths>(100, Lengths{10, 10})), {});
  EXPECT_FALSE(result.saturation.saturated);
  EXPECT_THAT(result.saturation.reason,
              HasSubstr("all requests arrive at once, so there is no rate"));
  EXPECT_THAT(result.saturation.reason, HasSubstr("100 % of the mean TTFT"));
  EXPECT_THAT(result.saturation.reason, HasSubstr("prefill and host time"));
}

TEST(Saturation, ArrivalsThatEndBeforeTheEngineHasFilledTellNothing) {
  // 100 requests within 10 s, each of 200 s, without limit: none waits, none finishes in time.
  const FakeStepTime step_time(Seconds{1});
  SyntheticWorkload spec{.num_prompts = 100, .request_rate = 10};
  spec.input = {LengthDistribution::Kind::fixed, 10, 0};
  spec.output = {LengthDistribution::Kind::fixed, 200, 0};
  const auto result = simulate(roomy_replica(plain_engine(), step_time), generate(spec, 1), {});
  EXPECT_FALSE(result.saturation.saturated);
  EXPECT_THAT(result.saturation.reason, HasSubstr("too short to tell"));
}

TEST(Saturation, AShortFloodThatQueuesIsSaturation) {
  // The same with 4 places: the last wait for thousands of seconds.
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.max_num_seqs = 4;
  SyntheticWorkload spec{.num_prompts = 100, .request_rate = 10};
  spec.input = {LengthDistribution::Kind::fixed, 10, 0};
  spec.output = {LengthDistribution::Kind::fixed, 200, 0};
  const auto result = simulate(roomy_replica(engine, step_time), generate(spec, 1), {});
  EXPECT_TRUE(result.saturation.saturated) << result.saturation.reason;
}

}  // namespace
}  // namespace roofcast::test

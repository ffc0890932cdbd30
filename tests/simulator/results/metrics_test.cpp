#include "simulator/results/metrics.hpp"

#include <gmock/gmock.h>

#include "simulator/results/request_tally.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

/// Arrives and is sent at `arrival` seconds; times in seconds.
RequestRecord served(double arrival, double first_token, double finished, std::int64_t output) {
  RequestRecord record{.request = {.arrival = to_nanoseconds(Seconds{arrival}),
                                   .input_tokens = 10,
                                   .output_tokens = output}};
  record.sent = record.queued = record.scheduled = record.request.arrival;
  record.first_token = to_nanoseconds(Seconds{first_token});
  record.finished = to_nanoseconds(Seconds{finished});
  return record;
}

RequestRecord rejected_at(double arrival) {
  RequestRecord record{.request = {.arrival = to_nanoseconds(Seconds{arrival})}};
  record.sent = record.request.arrival;
  record.rejected = true;
  return record;
}

SimulationResult summarised(std::vector<RequestRecord> records, const Slo& slo,
                            const TokenGaps& gaps = TokenGaps(1)) {
  SimulationResult result;
  result.requests = std::move(records);
  summarise(result, gaps, slo, 0);
  return result;
}

TEST(Metrics, FollowTheDefinitionsOfVllmBenchServe) {
  // TTFT 1 and 2 s; E2E 3 and 2 s; TPOT of the first (3 - 1) / (5 - 1) = 0.5 s, none of the second.
  const auto result = summarised({served(0, 1, 3, 5), served(1, 3, 3, 1)}, {});
  EXPECT_EQ(result.completed, 2);
  EXPECT_DOUBLE_EQ(result.ttft.mean, 1.5);
  EXPECT_DOUBLE_EQ(result.e2e.mean, 2.5);
  EXPECT_EQ(result.tpot.count, 1);
  EXPECT_DOUBLE_EQ(result.tpot.mean, 0.5);
  EXPECT_DOUBLE_EQ(result.makespan.value, 3);
  EXPECT_DOUBLE_EQ(result.request_rate_per_s, 2.0 / 3);
  EXPECT_DOUBLE_EQ(result.output_tokens_per_s, 2);
  EXPECT_FALSE(result.goodput_per_s.has_value());
}

TEST(Metrics, GoodputCountsRequestsWithinEveryLimit) {
  // Limits TTFT 1 s and TPOT 0.5 s. First: 1 and 0.5, good. Second: TTFT 2. Third: TPOT 0.6.
  // Fourth: one token, TPOT counts as 0, good. 2 good in 10 s.
  const Slo slo{
      .goodput = {{LatencyMetric::ttft, Seconds{1}}, {LatencyMetric::tpot, Seconds{0.5}}}};
  const auto result = summarised(
      {served(0, 1, 3, 5), served(0, 2, 3, 5), served(0, 1, 4, 6), served(9, 10, 10, 1)}, slo);
  EXPECT_DOUBLE_EQ(*result.goodput_share, 0.5);
  EXPECT_DOUBLE_EQ(*result.goodput_per_s, 0.2);
}

TEST(Metrics, ARejectedRequestIsNotGood) {
  const Slo slo{.goodput = {{LatencyMetric::ttft, Seconds{5}}}};
  const auto result = summarised({served(0, 1, 2, 2), rejected_at(0)}, slo);
  EXPECT_EQ(result.rejected, 1);
  EXPECT_DOUBLE_EQ(*result.goodput_share, 0.5);
}

TEST(Metrics, AnItlLimitHoldsForTheLongestGap) {
  RequestRecord record = served(0, 1, 5, 3);
  record.largest_gap = 3 * kSecond;
  EXPECT_EQ(latency_of(record, LatencyMetric::itl), 3 * kSecond);
  EXPECT_EQ(latency_of(record, LatencyMetric::tpot), 2 * kSecond);
}

TEST(Metrics, SloTargetsAreJudgedByClass) {
  // chat: TTFT 1, 2, 3 s, p50 = 2 s; batch: 10 s.
  std::vector<RequestRecord> records = {served(0, 1, 2, 2), served(0, 2, 3, 2), served(0, 3, 4, 2),
                                        served(0, 10, 11, 2)};
  records[3].request.slo_class = 1;
  const Slo slo{
      .classes = {
          {.name = "chat",
           .share = 0.75,
           .targets = {{LatencyMetric::ttft, 50, Seconds{2}},
                       {LatencyMetric::ttft, 99, Seconds{2}}}},
          {.name = "batch", .share = 0.25, .targets = {{LatencyMetric::e2e, 95, Seconds{11}}}}}};
  const auto result = summarised(records, slo, TokenGaps(2));
  ASSERT_EQ(result.slo.size(), 3u);
  EXPECT_EQ(result.slo[0].slo_class, "chat");
  EXPECT_DOUBLE_EQ(result.slo[0].achieved, 2);
  EXPECT_TRUE(result.slo[0].met);
  EXPECT_DOUBLE_EQ(result.slo[0].attainment, 2.0 / 3);
  EXPECT_DOUBLE_EQ(result.slo[1].achieved, 2.98);  // position 0.99 * 2 = 1.98
  EXPECT_FALSE(result.slo[1].met);
  EXPECT_EQ(result.slo[2].slo_class, "batch");
  EXPECT_TRUE(result.slo[2].met);
  EXPECT_EQ(result.slo[2].requests, 1);
}

TEST(Metrics, RejectedRequestsCountAsNeverServedForATarget) {
  // Two served in 1 s, one rejected: p50 of three is the second served; p90 falls on the rejected.
  const Slo slo{.classes = {{.name = "all",
                             .targets = {{LatencyMetric::ttft, 50, Seconds{1}},
                                         {LatencyMetric::ttft, 90, Seconds{1}}}}}};
  const auto result = summarised({served(0, 1, 2, 2), served(0, 1, 2, 2), rejected_at(0)}, slo);
  EXPECT_TRUE(result.slo[0].met);
  EXPECT_FALSE(result.slo[1].met);
  EXPECT_DOUBLE_EQ(result.slo[1].attainment, 2.0 / 3);
  EXPECT_EQ(result.slo[1].requests, 3);
}

TEST(Metrics, AClassWithoutRequestsMeetsNothing) {
  const Slo slo{.classes = {{.name = "a", .targets = {}},
                            {.name = "b", .targets = {{LatencyMetric::ttft, 50, Seconds{1}}}}}};
  const auto result = summarised({served(0, 1, 2, 2)}, slo);
  ASSERT_EQ(result.slo.size(), 1u);
  EXPECT_EQ(result.slo[0].requests, 0);
  EXPECT_FALSE(result.slo[0].met);
}

TEST(Metrics, ItlTargetsUseTheGapsOfTheirClass) {
  // Class 0: gaps 1, 1, 2 s, p50 = 1 s. Class 1: 9 s.
  TokenGaps gaps(2);
  for (Nanoseconds gap : {1 * kSecond, 1 * kSecond, 2 * kSecond}) gaps.add(0, gap);
  gaps.add(1, 9 * kSecond);
  std::vector<RequestRecord> records = {served(0, 1, 5, 4), served(0, 1, 10, 2)};
  records[1].request.slo_class = 1;
  const Slo slo{.classes = {{.name = "a", .targets = {{LatencyMetric::itl, 50, Seconds{1}}}},
                            {.name = "b", .targets = {{LatencyMetric::itl, 50, Seconds{1}}}}}};
  const auto result = summarised(records, slo, gaps);
  EXPECT_TRUE(result.slo[0].met);
  EXPECT_DOUBLE_EQ(result.slo[1].achieved, 9);
  EXPECT_EQ(result.itl.count, 4);
  EXPECT_DOUBLE_EQ(result.itl.mean, 3.25);
}

}  // namespace
}  // namespace roofcast::test

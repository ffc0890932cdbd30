#include "simulator/results/metrics.hpp"

#include <gmock/gmock.h>

#include "simulator/results/request_tally.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

/// A request that arrives and is sent at `arrival`; all times in seconds.
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
                            const TokenGaps& gaps = TokenGaps(1),
                            const std::vector<LoadStage>& stages = {}) {
  SimulationResult result;
  result.requests = std::move(records);
  summarise(result, gaps, slo, 0, stages);
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

// Twice as long to the first tokens: TTFT 2 and 4 s and E2E 4 and 4 s instead of 1, 2, 3 and 2; the
// tokens after the first still follow within 2 s.
TEST(Metrics, LateFirstTokensMoveWhatFollowsThem) {
  const Slo slo{.goodput = {{LatencyMetric::ttft, Seconds{3}}},
                .targets = {{LatencyMetric::ttft, 50, Seconds{1.5}}}};
  SimulationResult result;
  result.requests = {served(0, 1, 3, 5), served(1, 3, 3, 1)};
  summarise(result, TokenGaps(1), slo, 0, {}, 2);
  EXPECT_DOUBLE_EQ(result.ttft.mean, 3);
  EXPECT_DOUBLE_EQ(result.e2e.mean, 4);
  EXPECT_DOUBLE_EQ(result.tpot.mean, 0.5);
  EXPECT_DOUBLE_EQ(result.makespan.value, 3);  // both finish then, whatever their users wait
  EXPECT_DOUBLE_EQ(result.output_tokens_per_s, (5 + 1) / 3.0);
  EXPECT_DOUBLE_EQ(*result.goodput_share, 0.5);
  EXPECT_FALSE(result.slo.front().met);
  EXPECT_EQ(result.requests.front().first_token, to_nanoseconds(Seconds{1}));
}

// Found from the result what summarise() makes of the same records with that factor; the gaps
// between tokens are those of the result.
TEST(Metrics, LateFirstTokensAreFoundFromAResult) {
  const Slo slo{
      .goodput = {{LatencyMetric::ttft, Seconds{3}}},
      .targets = {{LatencyMetric::ttft, 50, Seconds{1.5}}, {LatencyMetric::itl, 50, Seconds{0.6}}}};
  TokenGaps gaps(1);
  gaps.add(0, to_nanoseconds(Seconds{0.5}), 4);
  const SimulationResult result = summarised({served(0, 1, 3, 5), served(1, 3, 3, 1)}, slo, gaps);
  const SimulationResult late = with_late_first_tokens(result, slo, {}, 2);
  EXPECT_DOUBLE_EQ(late.ttft.mean, 3);  // 2 and 4 s, where they were 1 and 2
  EXPECT_DOUBLE_EQ(late.e2e.mean, 4);
  EXPECT_DOUBLE_EQ(late.tpot.mean, 0.5);
  EXPECT_DOUBLE_EQ(*late.goodput_share, 0.5);
  EXPECT_FALSE(late.slo[0].met);
  EXPECT_TRUE(late.slo[1].met);
  EXPECT_DOUBLE_EQ(late.itl.mean, 0.5);
  EXPECT_EQ(late.completed, 2);
  EXPECT_EQ(late.requests[0].first_token, to_nanoseconds(Seconds{1}));
  // And none late are the result itself.
  EXPECT_DOUBLE_EQ(with_late_first_tokens(result, slo, {}, 1).ttft.mean, result.ttft.mean);
}

// Half as long to the first token: after 0.5 s, so that the queue of 0.8 s ends then at the latest.
TEST(Metrics, EarlyFirstTokensEndTheQueueBeforeThem) {
  SimulationResult result;
  result.requests = {served(0, 1, 3, 5)};
  result.requests.front().scheduled = to_nanoseconds(Seconds{0.8});
  summarise(result, TokenGaps(1), {}, 0, {}, 0.5);
  EXPECT_DOUBLE_EQ(result.ttft.mean, 0.5);
  EXPECT_DOUBLE_EQ(result.queue.mean, 0.5);
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

TEST(Metrics, TargetsOfAllRequestsHoldWhateverTheirClass) {
  // TTFT 1, 2, 3 s of one class and 10 s of another: p50 = 2.5 s, and two of four are within it.
  std::vector<RequestRecord> records = {served(0, 1, 2, 2), served(0, 2, 3, 2), served(0, 3, 4, 2),
                                        served(0, 10, 11, 2)};
  records[3].request.slo_class = 1;
  TokenGaps gaps(2);
  gaps.add(0, kSecond);
  gaps.add(1, 3 * kSecond);
  const Slo slo{
      .targets = {{LatencyMetric::ttft, 50, Seconds{2.5}}, {LatencyMetric::itl, 50, Seconds{1}}},
      .classes = {{.name = "chat", .targets = {{LatencyMetric::ttft, 50, Seconds{1}}}}}};
  const auto result = summarised(records, slo, gaps);
  ASSERT_EQ(result.slo.size(), 3u);
  EXPECT_EQ(result.slo[0].slo_class, "all");
  EXPECT_EQ(result.slo[0].requests, 4);
  EXPECT_DOUBLE_EQ(result.slo[0].achieved, 2.5);
  EXPECT_DOUBLE_EQ(result.slo[0].attainment, 0.5);
  EXPECT_TRUE(result.slo[0].met);
  EXPECT_DOUBLE_EQ(result.slo[1].achieved, 2);  // of gaps of 1 and 3 s
  EXPECT_FALSE(result.slo[1].met);
  EXPECT_EQ(result.slo[2].slo_class, "chat");
  EXPECT_EQ(result.slo[2].requests, 3);
}

TEST(Metrics, AStoppedRunCountsWhatHadArrivedAndIsNotJudged) {
  // Stopped at 4 s: arrivals at 0, 1 and 3 s are two gaps in 3 s; the one at 90 s has not come.
  RequestRecord waiting{.request = {.arrival = 3 * kSecond}};
  RequestRecord to_come{.request = {.arrival = 90 * kSecond}};
  SimulationResult result;
  result.requests = {served(0, 1, 2, 2), served(1, 2, 3, 2), waiting, to_come};
  result.stopped = true;
  summarise(result, TokenGaps(1), {}, 4 * kSecond, {});
  EXPECT_DOUBLE_EQ(result.offered_rate_per_s, 2.0 / 3);
  EXPECT_DOUBLE_EQ(result.makespan.value, 4);
  EXPECT_EQ(result.unfinished, 2);
  EXPECT_FALSE(result.saturation.saturated);
  EXPECT_EQ(result.saturation.reason(), "stopped early: no statement about the load");
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

TEST(Metrics, TpotIsRoundedToTheNanosecond) {
  // 2 s over 3 gaps: 666,666,666.67 ns.
  const auto result = summarised({served(0, 1, 3, 4)}, {});
  EXPECT_EQ(result.tpot.p50, 0.666666667);
}

TEST(Metrics, ALostRequestIsNeitherServedNorGood) {
  RequestRecord lost = rejected_at(0);
  lost.rejected = false;
  lost.lost = true;
  const Slo slo{.goodput = {{LatencyMetric::ttft, Seconds{5}}},
                .classes = {{.name = "all", .targets = {{LatencyMetric::ttft, 99, Seconds{5}}}}}};
  const auto result = summarised({served(0, 1, 2, 2), lost}, slo);
  EXPECT_EQ(result.completed, 1);
  EXPECT_EQ(result.lost, 1);
  EXPECT_EQ(result.rejected, 0);
  EXPECT_EQ(result.unfinished, 0);
  EXPECT_DOUBLE_EQ(*result.goodput_share, 0.5);
  EXPECT_FALSE(result.slo[0].met);
  EXPECT_DOUBLE_EQ(result.slo[0].attainment, 0.5);
}

TEST(Metrics, ATurnThatWasNeverCreatedHasNoArrival) {
  // Its `arrival` is the pause before it, 50 s. Sessions start at 1 and 3 s, 1 in 2 s, with 3 turns
  // in 2 sessions: 0.75 requests a second are offered, although one was never sent.
  RequestRecord turn = served(50, 0, 0, 5);
  turn.request.follows = 0;
  turn.sent = turn.queued = turn.scheduled = turn.first_token = turn.finished = kNever;
  const auto result = summarised({served(1, 2, 3, 2), served(3, 4, 5, 2), turn}, {});
  EXPECT_EQ(result.unfinished, 1);
  EXPECT_DOUBLE_EQ(result.offered_rate_per_s, 0.75);
  EXPECT_DOUBLE_EQ(result.session_rate_per_s, 0.5);
  EXPECT_DOUBLE_EQ(result.makespan.value, 4);
}

RequestRecord in_stage(RequestRecord record, std::int16_t stage) {
  record.request.stage = stage;
  return record;
}

TEST(Stages, AreReportedByThemselvesAndTogether) {
  // Slow: arrivals at 0 and 2 s, TTFT 1 and 1 s, end 4 s. Fast: at 5, 5.5 and 6 s, TTFT 2, 2 and
  // 5 s, end 12 s. Gaps of 1 s and 3 s.
  TokenGaps gaps(1, 2);
  gaps.add(0, kSecond, 2);
  gaps.add(1, 3 * kSecond, 2);
  const Slo slo{.goodput = {{LatencyMetric::ttft, Seconds{2}}}};
  const auto result =
      summarised({in_stage(served(0, 1, 3, 2), 0), in_stage(served(2, 3, 4, 2), 0),
                  in_stage(served(5, 7, 8, 2), 1), in_stage(served(5.5, 7.5, 8, 2), 1),
                  in_stage(served(6, 11, 12, 2), 1)},
                 slo, gaps, {{.name = "slow"}, {.name = "fast"}});
  ASSERT_EQ(result.stages.size(), 2u);
  const StageResult& slow = result.stages[0];
  EXPECT_EQ(slow.name, "slow");
  EXPECT_EQ(slow.completed, 2);
  EXPECT_DOUBLE_EQ(slow.offered_rate_per_s, 0.5);
  EXPECT_DOUBLE_EQ(slow.request_rate_per_s, 0.5);
  EXPECT_DOUBLE_EQ(slow.ttft.max, 1);
  EXPECT_DOUBLE_EQ(slow.itl.max, 1);
  EXPECT_DOUBLE_EQ(*slow.goodput_share, 1);
  const StageResult& fast = result.stages[1];
  EXPECT_EQ(fast.name, "fast");
  EXPECT_EQ(fast.completed, 3);
  EXPECT_DOUBLE_EQ(fast.offered_rate_per_s, 2);
  EXPECT_DOUBLE_EQ(fast.request_rate_per_s, 3.0 / 7);
  EXPECT_DOUBLE_EQ(fast.ttft.p50, 2);
  EXPECT_DOUBLE_EQ(fast.ttft.mean, 3);
  EXPECT_DOUBLE_EQ(fast.itl.p50, 3);
  EXPECT_DOUBLE_EQ(*fast.goodput_share, 2.0 / 3);
  EXPECT_EQ(result.completed, 5);
  EXPECT_DOUBLE_EQ(result.ttft.p50, 2);  // of 1, 1, 2, 2, 5
  EXPECT_DOUBLE_EQ(result.itl.p50, 2);   // of 1, 1, 3, 3
  EXPECT_DOUBLE_EQ(result.makespan.value, 12);
  EXPECT_DOUBLE_EQ(*result.goodput_share, 0.8);
}

TEST(Stages, OfAWarmUpNothingIsReported) {
  // The warm-up's TTFT of 9 s, its gap of 7 s, its rejection and its missed target do not count;
  // one reported stage is not listed by itself.
  TokenGaps gaps(1, 2);
  gaps.add(0, 7 * kSecond);
  gaps.add(1, kSecond);
  const Slo slo{.goodput = {{LatencyMetric::ttft, Seconds{1}}},
                .classes = {{.name = "all",
                             .targets = {{LatencyMetric::ttft, 99, Seconds{1}},
                                         {LatencyMetric::itl, 99, Seconds{1}}}}}};
  const auto result =
      summarised({in_stage(served(0, 9, 16, 2), 0), in_stage(rejected_at(1), 0),
                  in_stage(served(10, 11, 12, 2), 1)},
                 slo, gaps, {{.name = "warm-up", .reported = false}, {.name = "a"}});
  EXPECT_TRUE(result.stages.empty());
  EXPECT_EQ(result.unreported, 2);
  EXPECT_EQ(result.completed, 1);
  EXPECT_EQ(result.rejected, 0);
  EXPECT_EQ(result.ttft.count, 1);
  EXPECT_DOUBLE_EQ(result.ttft.max, 1);
  EXPECT_DOUBLE_EQ(result.itl.max, 1);
  EXPECT_DOUBLE_EQ(result.makespan.value, 2);
  EXPECT_DOUBLE_EQ(result.whole_makespan.value, 16);
  EXPECT_DOUBLE_EQ(*result.goodput_share, 1);
  EXPECT_TRUE(result.slo[0].met);
  EXPECT_TRUE(result.slo[1].met);
  EXPECT_EQ(result.slo[0].requests, 1);
}

TEST(Stages, AClassIsJudgedOverAllReportedStages) {
  // TTFT of class b: 1 s in the first stage, 3 s in the second; p50 is 2 s. Class a: 8 s.
  RequestRecord first = in_stage(served(0, 1, 2, 2), 0);
  RequestRecord second = in_stage(served(4, 7, 8, 2), 1);
  first.request.slo_class = second.request.slo_class = 1;
  const Slo slo{.classes = {{.name = "a", .targets = {}},
                            {.name = "b",
                             .targets = {{LatencyMetric::ttft, 50, Seconds{2}},
                                         {LatencyMetric::itl, 50, Seconds{2}}}}}};
  TokenGaps gaps(2, 2);
  gaps.add(gaps.index_of(first.request), kSecond);
  gaps.add(gaps.index_of(second.request), 2 * kSecond);
  gaps.add(gaps.index_of(0, 0), 9 * kSecond);
  const auto result = summarised({first, in_stage(served(0, 8, 9, 2), 0), second}, slo, gaps,
                                 {{.name = "first"}, {.name = "second"}});
  ASSERT_EQ(result.slo.size(), 2u);
  EXPECT_EQ(result.slo[0].requests, 2);
  EXPECT_DOUBLE_EQ(result.slo[0].achieved, 2);
  EXPECT_DOUBLE_EQ(result.slo[1].achieved, 1.5);
}

TEST(Stages, OfASimulationHaveTheirOwnGaps) {
  // Steps of 1 s: 3 tokens are 2 gaps, 4 tokens 3. Busy for 2 + 3 + 4 s.
  const FakeStepTime step_time(Seconds{1});
  Workload workload = batch_of({{10, 2}, {10, 3}, {10, 4}});
  workload.stages = {{.name = "warm-up", .reported = false}, {.name = "a"}, {.name = "b"}};
  for (std::int16_t i = 0; i < 3; ++i) {
    Request& request = workload.requests[static_cast<std::size_t>(i)];
    request.stage = i;
    request.arrival = 10 * i * kSecond;
  }
  for (const EngineKind kind : {EngineKind::plain, EngineKind::fast}) {
    const auto result =
        simulate(roomy_replica(plain_engine(), step_time), workload, {.engine_kind = kind});
    ASSERT_EQ(result.stages.size(), 2u);
    EXPECT_EQ(result.stages[0].itl.count, 2);
    EXPECT_EQ(result.stages[1].itl.count, 3);
    EXPECT_EQ(result.itl.count, 5);
    EXPECT_DOUBLE_EQ(result.makespan.value, 14);        // 10 to 24
    EXPECT_DOUBLE_EQ(result.use.busy_share, 9.0 / 24);  // of 0 to 24
  }
}

TEST(Replicas, ShareTheRequestsThatTheyServed) {
  RequestRecord first = served(0, 1, 3, 5);
  first.replica = 0;
  RequestRecord second = first;
  second.replica = 1;
  RequestRecord lost = rejected_at(0);
  lost.rejected = false;
  lost.lost = true;
  RequestRecord never_taken = lost;
  ASSERT_EQ(never_taken.replica, -1);
  lost.replica = 1;
  SimulationResult result;
  result.requests = {first, second, lost, never_taken, first};
  result.replicas.resize(2);
  summarise(result, TokenGaps(1), {}, 0);
  EXPECT_EQ(result.replicas[0].completed, 2);
  EXPECT_EQ(result.replicas[0].lost, 0);
  EXPECT_EQ(result.replicas[1].completed, 1);
  EXPECT_EQ(result.replicas[1].lost, 1);
}

TEST(Metrics, BeyondAMillionRequestsAHistogramAnswers) {
  // TTFT 1 us, 2 us, ... : p50 of n values i at (n - 1) / 2 is (n + 1) / 2.
  for (const std::int64_t requests : {1'000'000, 1'000'001}) {
    std::vector<RequestRecord> records(static_cast<std::size_t>(requests), served(0, 0, 0, 1));
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i].first_token = records[i].finished = 1000 * (static_cast<Nanoseconds>(i) + 1);
    }
    const auto result = summarised(std::move(records), {});
    const double p50 = static_cast<double>(requests + 1) / 2 * 1e-6;
    EXPECT_EQ(result.ttft.exact, requests == 1'000'000);
    if (result.ttft.exact) {
      EXPECT_DOUBLE_EQ(result.ttft.p50, p50);
    } else {
      EXPECT_NEAR(result.ttft.p50, p50, p50 * DurationHistogram::kRelativeError);
    }
    EXPECT_DOUBLE_EQ(result.ttft.mean, p50);  // of 1 to n, (n + 1) / 2 as well
    EXPECT_DOUBLE_EQ(result.ttft.max, static_cast<double>(requests) * 1e-6);
  }
}

}  // namespace
}  // namespace roofcast::test

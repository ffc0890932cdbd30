#include "simulator/results/slo.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(GoodputLimit, BareNumbersAreMillisecondsAsInVllm) {
  const auto limit = parse_goodput_limit("ttft:500");
  EXPECT_EQ(limit.metric, LatencyMetric::ttft);
  EXPECT_DOUBLE_EQ(limit.limit.value, 0.5);
}

TEST(GoodputLimit, TakesUnits) {
  EXPECT_DOUBLE_EQ(parse_goodput_limit("tpot:50ms").limit.value, 0.05);
  EXPECT_DOUBLE_EQ(parse_goodput_limit("e2el:5s").limit.value, 5);
  EXPECT_DOUBLE_EQ(parse_goodput_limit("itl:900us").limit.value, 900e-6);
  EXPECT_DOUBLE_EQ(parse_goodput_limit("ttft:0.5S").limit.value, 0.5);
  EXPECT_DOUBLE_EQ(parse_goodput_limit("e2e:2m").limit.value, 120);
}

TEST(GoodputLimit, TakesTheNamesOfOtherTools) {
  EXPECT_EQ(parse_goodput_limit("time_to_first_token:75").metric, LatencyMetric::ttft);
  EXPECT_EQ(parse_goodput_limit("inter_token_latency:19.75").metric, LatencyMetric::tpot);
  EXPECT_EQ(parse_goodput_limit("time_per_output_token:20").metric, LatencyMetric::tpot);
  EXPECT_EQ(parse_goodput_limit("request-latency:5s").metric, LatencyMetric::e2e);
  EXPECT_EQ(parse_goodput_limit("E2E:1s").metric, LatencyMetric::e2e);
}

TEST(GoodputLimit, WhatItCannotReadIsShownWithTheForm) {
  for (const char* text :
       {"", "ttft", "ttft:", ":500", "ttft:abc", "ttft:-5", "ttft:0", "ttft:nan", "ttft:inf",
        "ttft:0.5", "ttft:5x", "ttft:5 s", "ttft:500:tpot", "latency:5", "ttft=500"}) {
    EXPECT_THAT([&] { parse_goodput_limit(text); }, ThrowsMessage<Error>(HasSubstr("METRIC:LIMIT")))
        << text;
  }
}

TEST(PercentileTarget, IsAPercentileAndALimit) {
  const auto target = parse_percentile_target("p99.9:itl:80ms");
  EXPECT_EQ(target.metric, LatencyMetric::itl);
  EXPECT_DOUBLE_EQ(target.percentile, 99.9);
  EXPECT_DOUBLE_EQ(target.limit.value, 0.08);
}

TEST(PercentileTarget, TakesTheUnitsOfEveryOtherTime) {
  EXPECT_DOUBLE_EQ(parse_percentile_target("p95:e2e:1min").limit.value, 60);
  EXPECT_DOUBLE_EQ(parse_percentile_target("p95:e2e:0.5H").limit.value, 1800);
  EXPECT_DOUBLE_EQ(parse_percentile_target("p95:itl:7500000ns").limit.value, 7.5e-3);
}

TEST(PercentileTarget, BareNumbersAreMillisecondsAsInGoodputLimits) {
  EXPECT_DOUBLE_EQ(parse_percentile_target("p99:e2e:2000").limit.value, 2);
  EXPECT_DOUBLE_EQ(parse_percentile_target("p99:e2e:2S").limit.value, 2);
  // Half a second, or half a millisecond?
  EXPECT_THAT([] { parse_percentile_target("p99:ttft:0.5"); },
              ThrowsMessage<Error>(HasSubstr("bare numbers are milliseconds, from 1 on")));
}

TEST(PercentileTarget, WhatItCannotReadIsShownWithTheForm) {
  for (const char* text : {"", "ttft:500ms", "p95", "p95:ttft", "p0:ttft:5s", "p100:ttft:5s",
                           "p:ttft:5s", "95:ttft:5s", "pnan:ttft:5s"}) {
    EXPECT_THAT([&] { parse_percentile_target(text); },
                ThrowsMessage<Error>(HasSubstr("pPERCENTILE:METRIC:LIMIT")))
        << text;
  }
}

TEST(PercentileTarget, HasOneNameAndOneWording) {
  const PercentileTarget target{.metric = LatencyMetric::ttft, .limit = Seconds{0.5}};
  EXPECT_EQ(name_of(target), "p95 TTFT");
  EXPECT_EQ(name_of(target, "chat"), "p95 TTFT of chat");
  EXPECT_EQ(words_of(target), "p95 TTFT ≤ 500.0 ms");
  EXPECT_EQ(
      words_of({.metric = LatencyMetric::e2e, .percentile = 99.9, .limit = Seconds{90}}, "chat"),
      "p99.9 E2E of chat ≤ 90.00 s");
}

TEST(Slo, HasTargetsOfAllRequestsOrOfAClass) {
  const PercentileTarget target{.limit = Seconds{0.5}};
  EXPECT_FALSE(has_targets({}));
  EXPECT_FALSE(has_targets({.classes = {{.name = "chat"}, {.name = "batch"}}}));
  EXPECT_TRUE(has_targets({.targets = {target}}));
  EXPECT_TRUE(has_targets({.classes = {{.name = "chat"}, {.name = "batch", .targets = {target}}}}));
}

TEST(LatencyMetric, ReadsBackItsOwnName) {
  for (LatencyMetric metric :
       {LatencyMetric::ttft, LatencyMetric::tpot, LatencyMetric::itl, LatencyMetric::e2e}) {
    EXPECT_EQ(parse_latency_metric(name_of(metric)), metric);
  }
  EXPECT_EQ(parse_latency_metric("speed"), std::nullopt);
}

}  // namespace
}  // namespace roofcast::test

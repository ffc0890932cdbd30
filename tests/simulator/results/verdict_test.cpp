#include "simulator/results/verdict.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

TargetOutcome outcome(LatencyMetric metric, double limit_s, double achieved_s) {
  return {.target = {.metric = metric, .percentile = 95, .limit = Seconds{limit_s}},
          .requests = 10,
          .achieved = achieved_s,
          .met = achieved_s <= limit_s};
}

SimulationResult served(std::vector<TargetOutcome> outcomes) {
  SimulationResult result;
  result.completed = 10;
  result.slo = std::move(outcomes);
  return result;
}

TEST(SloVerdict, TheTargetNearestToFailingBinds) {
  const SloVerdict verdict = judge(
      served({outcome(LatencyMetric::ttft, 0.5, 0.2), outcome(LatencyMetric::tpot, 0.05, 0.045)}));
  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(verdict.binding, Binding::target);
  EXPECT_EQ(binding_words(verdict), "p95 TPOT");
  EXPECT_DOUBLE_EQ(verdict.margins[0].margin, 0.6);  // (0.5 - 0.2) / 0.5
  EXPECT_NEAR(verdict.worst_margin, 0.1, 1e-12);     // (0.05 - 0.045) / 0.05
}

TEST(SloVerdict, OneMissedTargetIsEnoughAndItsMarginIsNegative) {
  const SloVerdict verdict = judge(
      served({outcome(LatencyMetric::ttft, 0.5, 0.75), outcome(LatencyMetric::tpot, 0.05, 0.01)}));
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.binding, Binding::target);
  EXPECT_EQ(verdict.binding_target, 0U);
  EXPECT_DOUBLE_EQ(verdict.worst_margin, -0.5);
}

TEST(SloVerdict, ATargetAtItsLimitHolds) {
  EXPECT_TRUE(judge(served({outcome(LatencyMetric::ttft, 0.5, 0.5)})).holds);
}

TEST(SloVerdict, APercentileThatFallsOnARequestWithoutServiceIsMissed) {
  TargetOutcome unserved = outcome(LatencyMetric::ttft, 0.5, 0.1);
  unserved.met = false;
  SimulationResult result = served({unserved});
  result.rejected = 3;
  const SloVerdict verdict = judge(result);
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.unserved, 3);
  EXPECT_EQ(verdict.worst_margin, kMarginWithoutService);
  EXPECT_EQ(missed_by_unserved(verdict), "p95 TTFT is missed because 3 requests are not served");
  result.notes = {"3 requests rejected: too long"};
  EXPECT_EQ(missed_by_unserved(judge(result)),
            "p95 TTFT is missed because 3 requests are not served (3 requests rejected: too long)");
  // A target that those who are served miss, too, needs no such reason.
  result.slo.front().achieved = 0.75;
  EXPECT_EQ(missed_by_unserved(judge(result)), std::nullopt);
}

TEST(SloVerdict, BeyondSaturationNothingHolds) {
  SimulationResult result = served({outcome(LatencyMetric::ttft, 0.5, 0.1)});
  result.saturation = {.saturated = true, .finding = "the backlog grows", .counts = "ten wait"};
  const SloVerdict verdict = judge(result);
  EXPECT_FALSE(verdict.holds);
  EXPECT_TRUE(verdict.saturated);
  EXPECT_EQ(verdict.binding, Binding::saturated);
  EXPECT_EQ(binding_words(verdict), "the backlog grows (ten wait)");
  EXPECT_EQ(verdict.worst_margin, kMarginWithoutService);
}

TEST(SloVerdict, ATargetThatAnEngineMissesWhileItFillsIsMissedAnyway) {
  TargetOutcome late = outcome(LatencyMetric::ttft, 0.5, 20);
  late.share = {.low = 0.1, .high = 0.2};  // of the requests within the limit, far from 0.95
  SimulationResult result = served({late});
  result.saturation = {.undecided = true,
                       .finding = "undecided: the backlog may shrink by 1 % or grow by 40 %"};
  const SloRequirement requirement{.sample = true, .must_stand = true};
  const SloVerdict verdict = judge(result, requirement);
  EXPECT_TRUE(verdict.undecided);  // whether it keeps up
  EXPECT_TRUE(verdict.missed_anyway);
  EXPECT_EQ(verdict.binding, Binding::target);
  // With prefixes that have yet to be cached, the first requests may be the slowest.
  result.use.prefix_hits = 100;
  EXPECT_FALSE(judge(result, requirement).missed_anyway);
  // One that is met while the engine fills may be missed later.
  late = outcome(LatencyMetric::ttft, 0.5, 0.1);
  late.share = {.low = 0.99, .high = 1};
  result.slo = {late};
  result.use.prefix_hits = 0;
  EXPECT_TRUE(judge(result, requirement).undecided);
  EXPECT_FALSE(judge(result, requirement).missed_anyway);
}

TEST(SloVerdict, WithoutTargetsALoadThatIsServedHolds) {
  const SloVerdict verdict = judge(served({}));
  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(verdict.binding, Binding::none);
  EXPECT_EQ(binding_words(verdict), "");
  EXPECT_EQ(verdict.worst_margin, 1);
}

TEST(SloVerdict, WithoutTargetsASaturatedLoadDoesNotHold) {
  SimulationResult result = served({});
  result.saturation = {.saturated = true, .finding = "the backlog grows"};
  const SloVerdict verdict = judge(result);
  EXPECT_FALSE(verdict.holds);
  EXPECT_TRUE(verdict.saturated);
  EXPECT_EQ(verdict.binding, Binding::saturated);
  EXPECT_EQ(verdict.worst_margin, kMarginWithoutService);
  result.goodput_share = 1;
  EXPECT_FALSE(judge(result, {.min_goodput_share = 0.9}).holds);
}

TEST(SloVerdict, SaysWhyItDoesNotHold) {
  const TargetOutcome kept = outcome(LatencyMetric::ttft, 0.5, 0.1);
  const TargetOutcome missed = outcome(LatencyMetric::tpot, 0.05, 0.1);
  EXPECT_EQ(why_not(judge(served({kept}))), "");
  EXPECT_EQ(why_not(judge(served({missed}))), "1 of 1 target missed");
  SimulationResult result = served({kept, missed});
  EXPECT_EQ(why_not(judge(result)), "1 of 2 targets missed");
  result.saturation.saturated = true;
  EXPECT_EQ(why_not(judge(result)), "1 of 2 targets missed");
  result.slo = {kept};
  EXPECT_EQ(why_not(judge(result)), "saturated, so latencies grow for as long as the load lasts");
  EXPECT_EQ(why_not(judge(SimulationResult{})), "nothing is served");
}

TEST(SloVerdict, NothingServedAndStoppedRunsDoNotHold) {
  SimulationResult nothing;
  EXPECT_FALSE(judge(nothing).holds);
  EXPECT_EQ(judge(nothing).binding, Binding::nothing_served);
  SimulationResult stopped = served({});
  stopped.stopped = true;
  EXPECT_FALSE(judge(stopped).holds);
  EXPECT_EQ(judge(stopped).binding, Binding::stopped);
}

TEST(SloVerdict, AGoodputShareIsRequiredWhereItIsAskedFor) {
  SimulationResult result = served({outcome(LatencyMetric::ttft, 0.5, 0.1)});
  EXPECT_THROW(judge(result, {.min_goodput_share = 0.99}), Error);
  result.goodput_share = 0.891;
  EXPECT_TRUE(judge(result).holds);
  const SloVerdict verdict = judge(result, {.min_goodput_share = 0.99});
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.binding, Binding::goodput);
  EXPECT_NEAR(verdict.worst_margin, -0.1, 1e-12);  // (0.891 - 0.99) / 0.99
  EXPECT_TRUE(judge(result, {.min_goodput_share = 0.891}).holds);
}

}  // namespace
}  // namespace roofcast::test

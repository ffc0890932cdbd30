#include "validate/decisions.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

DecisionRun run(const std::string& deployment, const std::string& point, double measured_tpot_ms,
                double measured_rate, double predicted_tpot_ms, double predicted_rate) {
  return {.question = "m 1024/1024",
          .gpu = "nvidia-h200-sxm",
          .deployment = deployment,
          .point = point,
          .measured_tpot = measured_tpot_ms / 1000,
          .predicted_tpot = predicted_tpot_ms / 1000,
          .measured_rate = measured_rate,
          .predicted_rate = predicted_rate};
}

/// Measured bests by limit: at 10 ms a 100, b 120; at 15 ms a 300, b 120; from 20 ms on a 300, b
/// 400. Predicted: a 90, b none; a 350, b 110; a 350, b 380.
std::vector<DecisionRun> two_deployments() {
  return {run("a", "4", 8, 100, 9, 90), run("a", "16", 14, 300, 12, 350),
          run("b", "4", 9, 120, 10.5, 110), run("b", "16", 18, 400, 17, 380)};
}

TEST(Decisions, TheChosenDeploymentCountsByItsBestMeasuredPoint) {
  const std::vector<Decision> decisions = decisions_of(two_deployments(), {});
  ASSERT_EQ(decisions.size(), 7U);  // one kind of GPU: a question for each limit
  const Decision& tight = decisions[0];
  EXPECT_EQ(tight.choice, ChoiceOf::layout);
  EXPECT_EQ(tight.gpu, "nvidia-h200-sxm");
  EXPECT_DOUBLE_EQ(*tight.tpot_limit, 0.010);
  EXPECT_EQ(tight.chosen, "a");  // b is predicted to miss 10 ms
  EXPECT_EQ(tight.best, "b");
  EXPECT_EQ(tight.alternatives, 2);
  EXPECT_NEAR(tight.regret, 1 - 100.0 / 120, 1e-12);
  EXPECT_TRUE(tight.promised);
  EXPECT_FALSE(tight.broken);  // a's point at 9 ms was measured at 8 ms
  EXPECT_EQ(tight.pairs, 1);   // 100 and 120 differ by more than 5 %
  EXPECT_EQ(tight.ordered, 0);
  EXPECT_EQ(tight.discordant, 1);
  EXPECT_EQ(decisions[1].chosen, "a");
  EXPECT_DOUBLE_EQ(decisions[1].regret, 0);
  for (std::size_t i = 2; i < 7; ++i) {
    EXPECT_EQ(decisions[i].chosen, "b");
    EXPECT_EQ(decisions[i].ordered, 1);
  }
}

// Far below the limit of 100 ms b's 380 stand against a's 350: good while a is not over 380 / 0.95,
// an error of log(380 / 332.5) = 0.1335. Of two deviations of 0.1 half is in common, which leaves
// the difference one of 0.1: Phi(1.335) = 0.909.
TEST(Decisions, AreAsSureAsStepTimesErr) {
  std::vector<DecisionRun> runs = two_deployments();
  EXPECT_FALSE(decisions_of(runs, {}).back().probability.has_value());  // nothing says how far
  for (DecisionRun& one : runs) one.causes = {{"kernel tables", 0.1}};
  const std::vector<Decision> decisions = decisions_of(runs, {});
  EXPECT_EQ(decisions.back().chosen, "b");
  EXPECT_NEAR(decisions.back().probability.value_or(0), 0.909, 0.015);
  // At 10 ms a's 9 ms may turn out 1.11 times as long, and b's 10.5 as short as 10.
  EXPECT_LT(decisions.front().probability.value_or(1), decisions.back().probability.value_or(0));
}

TEST(Decisions, ASummaryIsTheMeanOfTheQuestions) {
  const std::vector<DecisionSummary> summaries = summaries_of(decisions_of(two_deployments(), {}));
  ASSERT_EQ(summaries.size(), 2U);  // all, and the one GPU
  const DecisionSummary& all = summaries.front();
  EXPECT_EQ(all.gpu, "");
  EXPECT_EQ(all.questions, 7);
  EXPECT_NEAR(all.regret, (1 - 100.0 / 120) / 7, 1e-12);
  EXPECT_NEAR(all.largest_regret, 1 - 100.0 / 120, 1e-12);
  EXPECT_EQ(all.unmet, 0);
  EXPECT_EQ(all.promised, 7);
  EXPECT_EQ(all.broken, 0);
  EXPECT_EQ(all.pairs, 7);
  EXPECT_NEAR(*all.ordered, 6.0 / 7, 1e-12);
  EXPECT_NEAR(*all.kendall, (6.0 - 1) / 7, 1e-12);  // no ties
  EXPECT_EQ(summaries.back().gpu, "nvidia-h200-sxm");
}

TEST(Decisions, APromiseIsBrokenWhenThePointMissesTheLimitByOverFivePercent) {
  // At 10 ms a is chosen for its 100, and measured at 10.6 ms; b would have met the limit.
  const auto chosen_at = [](double measured_tpot_ms) {
    return decisions_of(std::vector{run("a", "4", measured_tpot_ms, 90, 9, 100),
                                    run("b", "4", 9, 50, 9.5, 40)},
                        {})
        .front();
  };
  const Decision broken = chosen_at(10.6);
  EXPECT_EQ(broken.chosen, "a");
  EXPECT_TRUE(broken.broken);
  EXPECT_DOUBLE_EQ(broken.regret, 1);  // a cannot meet the limit at any point
  EXPECT_EQ(summaries_of(std::vector{broken}).front().unmet, 1);
  EXPECT_FALSE(chosen_at(10.4).broken);
}

TEST(Decisions, WhereNothingIsPredictedToMeetTheLimitTheFastestIsChosen) {
  const Decision decision =
      decisions_of(std::vector{run("a", "4", 9, 50, 12, 40), run("b", "4", 9.5, 60, 11, 45)}, {})
          .front();
  EXPECT_FALSE(decision.promised);
  EXPECT_EQ(decision.chosen, "b");
  EXPECT_DOUBLE_EQ(decision.regret, 0);
  EXPECT_FALSE(decision.broken);
}

TEST(Decisions, ALimitThatNoDeploymentMeetsIsNoQuestion) {
  const std::vector<Decision> decisions =
      decisions_of(std::vector{run("a", "4", 25, 50, 9, 50), run("b", "4", 35, 60, 9, 60)}, {});
  ASSERT_EQ(decisions.size(), 4U);  // 30, 40, 60 and 100 ms
  EXPECT_DOUBLE_EQ(*decisions.front().tpot_limit, 0.030);
}

TEST(Decisions, OfTwoRunsOfAPointTheNewerCounts) {
  std::vector<DecisionRun> runs = {run("a", "4", 8, 100, 8, 100), run("a", "4", 8, 50, 8, 50),
                                   run("b", "4", 8, 80, 8, 80)};
  runs[0].date = "2026-05-01";
  runs[1].date = "2025-12-01";
  EXPECT_EQ(decisions_of(runs, {}).front().best, "a");
  std::swap(runs[0].date, runs[1].date);
  EXPECT_EQ(decisions_of(runs, {}).front().best, "b");
}

TEST(Decisions, KindsOfGpuCompareByDollar) {
  std::vector<DecisionRun> runs = {run("a", "4", 8, 100, 8, 110), run("a", "4", 8, 180, 8, 150),
                                   run("a", "4", 8, 900, 8, 900)};
  runs[1].gpu = "nvidia-b200-sxm";
  runs[2].gpu = "without-price";
  // Tokens a dollar: 100 x 3600 / 2 = 180,000 against 180 x 3600 / 4 = 162,000; predicted 198,000
  // against 135,000. The GPU without a price takes no part, and no GPU has two layouts.
  const std::vector<Decision> decisions =
      decisions_of(runs, {{"nvidia-h200-sxm", 2}, {"nvidia-b200-sxm", 4}});
  ASSERT_EQ(decisions.size(), 7U);
  EXPECT_EQ(decisions.front().choice, ChoiceOf::gpu_per_dollar);
  EXPECT_EQ(decisions.front().alternatives, 2);
  EXPECT_EQ(decisions.front().best, "nvidia-h200-sxm, a");
  EXPECT_DOUBLE_EQ(decisions.front().regret, 0);
}

TEST(Decisions, ASaturatedLoadHasNoLimit) {
  // Layouts on the H200: predicted b before a, measured 200 and 190, which differ by exactly 5 % of
  // the larger and so count as equal. With the B200 the choice is b, 190 of 400: 52.5 % given away.
  std::vector<DecisionRun> runs = {run("a", "-", 0, 200, 0, 180), run("b", "-", 0, 190, 0, 210),
                                   run("a", "-", 0, 400, 0, 205)};
  runs[2].gpu = "nvidia-b200-sxm";
  const std::vector<Decision> decisions = decisions_of(runs, {});
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions[0].choice, ChoiceOf::layout);
  EXPECT_FALSE(decisions[0].tpot_limit);
  EXPECT_NEAR(decisions[0].regret, 0.05, 1e-12);
  EXPECT_EQ(decisions[0].pairs, 0);
  EXPECT_EQ(decisions[1].choice, ChoiceOf::gpu);
  EXPECT_NEAR(decisions[1].regret, 0.525, 1e-12);
  EXPECT_EQ(decisions[1].pairs, 2);    // 200 and 400, 190 and 400
  EXPECT_EQ(decisions[1].ordered, 1);  // 180 before 205 is right, 210 before 205 is not
}

TEST(Decisions, TiesCountHalfInKendall) {
  // Three deployments measured 100, 100 and 200, predicted 90, 80 and 90: of three pairs one is
  // tied where measured, one where predicted, and the third (100 and 200, 80 and 90) agrees:
  // tau-b = 1 / sqrt((1 + 1) (1 + 1)) = 0.5.
  const std::vector<Decision> decisions =
      decisions_of(std::vector{run("a", "4", 8, 100, 8, 90), run("b", "4", 8, 100, 8, 80),
                               run("c", "4", 8, 200, 8, 90)},
                   {});
  EXPECT_NEAR(*summaries_of(std::vector{decisions.front()}).front().kendall, 0.5, 1e-12);
}

TEST(Decisions, RunsComeFromCasesWithTokensPerSecond) {
  ComparedCase served{.keys = {{"engine_name", "sglang"},
                               {"dtype", "fp8"},
                               {"tp", "4"},
                               {"dp", "1"},
                               {"ep", "on"},
                               {"drafts", "2"},
                               {"load", "1024/1024"},
                               {"conc", "16"},
                               {"gpus", "4"}},
                      .gpu = "nvidia-h200-sxm",
                      .model = "m"};
  served.figures = {
      {.name = "tpot_s", .statistic = "p50", .measured = 0.02, .predicted = 0.018},
      {.name = "output_tokens_per_s", .statistic = "value", .measured = 800, .predicted = 880}};
  ComparedCase without_rate = served;
  without_rate.figures.pop_back();
  const std::vector<DecisionRun> runs = decision_runs({served, without_rate});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].question, "m 1024/1024");
  EXPECT_EQ(runs[0].deployment, "sglang fp8 tp4 ep, 2 drafts");
  EXPECT_EQ(runs[0].point, "16");
  EXPECT_DOUBLE_EQ(runs[0].measured_tpot, 0.02);  // no mean was measured
  EXPECT_DOUBLE_EQ(runs[0].measured_rate, 200);
  EXPECT_DOUBLE_EQ(runs[0].predicted_rate, 220);
  // In a closed loop of 16 requests of 101 tokens on four GPUs: 16 x 101 / 4 = 404 tokens a GPU in
  // TTFT + 100 TPOT, measured 1 + 2 s and predicted 0.4 + 1.8 s.
  served.keys["output_tokens"] = "101";
  served.figures.push_back(
      {.name = "ttft_s", .statistic = "mean", .measured = 1, .predicted = 0.4});
  const DecisionRun loop = decision_runs({served}).front();
  EXPECT_NEAR(loop.measured_rate, 404 / 3.0, 1e-9);
  EXPECT_NEAR(loop.predicted_rate, 404 / 2.2, 1e-9);
  served.keys["deployment"] = "ours";
  EXPECT_EQ(decision_runs({served}).front().deployment, "ours");
}

}  // namespace
}  // namespace roofcast::test

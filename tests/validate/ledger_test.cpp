#include "validate/ledger.hpp"

#include <gtest/gtest.h>

namespace roofcast {
namespace {

ComparedFigure figure(double measured, double predicted, Interval interval = {0, 0}) {
  return {.name = "ttft_s",
          .statistic = "mean",
          .measured = measured,
          .predicted = predicted,
          .interval = interval};
}

ComparedCase case_of(const std::string& gpu, std::vector<ComparedFigure> figures) {
  return {.name = "a case", .engine = "vllm-0.19", .gpu = gpu, .figures = std::move(figures)};
}

TEST(Validation, AnErrorIsPredictedOverMeasuredLessOne) {
  EXPECT_DOUBLE_EQ(*relative_error(figure(0.2, 0.25)), 0.25);
  EXPECT_DOUBLE_EQ(*relative_error(figure(0.2, 0.1)), -0.5);
}

TEST(Validation, NothingMeasuredHasAnErrorOnlyWhenNothingWasPredicted) {
  EXPECT_EQ(relative_error(figure(0, 0)), 0.0);
  EXPECT_EQ(relative_error(figure(0, 3)), std::nullopt);
}

TEST(Validation, AnIntervalHoldsItsEnds) {
  EXPECT_TRUE(is_covered(figure(1, 2, {1, 3})));
  EXPECT_TRUE(is_covered(figure(3, 2, {1, 3})));
  EXPECT_FALSE(is_covered(figure(0.999, 2, {1, 3})));
  EXPECT_FALSE(is_covered(figure(3.001, 2, {1, 3})));
}

TEST(Validation, ALineOfTheLedgerSumsItsErrorsUp) {
  // Errors +10 %, -20 %, +40 %, 0 %, -10 %; sizes in order 0, 10, 10, 20, 40 %.
  const std::vector<LedgerLine> ledger =
      ledger_of({case_of("h100", {figure(10, 11, {10, 12}), figure(10, 8), figure(10, 14),
                                  figure(10, 10, {9, 11}), figure(10, 9, {9, 10})})});
  ASSERT_FALSE(ledger.empty());
  const LedgerLine& all = ledger.front();
  EXPECT_EQ(all.by, LedgerBy::all);
  EXPECT_EQ(all.errors.figures, 5);
  EXPECT_NEAR(all.errors.bias, 0.2 / 5, 1e-12);
  EXPECT_NEAR(all.errors.mape, 0.8 / 5, 1e-12);
  EXPECT_NEAR(all.errors.median, 0.1, 1e-12);
  // At 0.9 x 4 = 3.6 between the fourth and the fifth: 0.2 + 0.6 x 0.2.
  EXPECT_NEAR(all.errors.p90, 0.32, 1e-12);
  EXPECT_DOUBLE_EQ(all.errors.coverage, 3.0 / 5);
}

TEST(Validation, TheLedgerTellsGpusApartInTheOrderTheyCome) {
  const std::vector<LedgerLine> ledger =
      ledger_of({case_of("l40s", {figure(10, 12)}), case_of("h100", {figure(10, 11)}),
                 case_of("l40s", {figure(10, 10)})});
  std::vector<LedgerLine> gpus;
  for (const LedgerLine& line : ledger) {
    if (line.by == LedgerBy::gpu) gpus.push_back(line);
  }
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].key, "l40s");
  EXPECT_NEAR(gpus[0].errors.bias, 0.1, 1e-12);
  EXPECT_EQ(gpus[1].key, "h100");
  EXPECT_EQ(gpus[1].errors.figures, 1);
}

TEST(Validation, TheLedgerGroupsByCombinationsOfKeys) {
  std::vector<ComparedCase> cases = {case_of("h100", {figure(10, 12)}),
                                     case_of("h100", {figure(10, 11)}),
                                     case_of("h100", {figure(10, 14)})};
  cases[0].keys = {{"version", "sglang-0.5.9"}, {"tp", "8"}};
  cases[1].keys = {{"version", "sglang-0.5.9"}};
  cases[2].keys = {{"version", "sglang-0.5.9"}, {"tp", "8"}};
  std::vector<LedgerLine> lines;
  for (const LedgerLine& line : ledger_of(cases, {"version", "tp"})) {
    if (line.by == LedgerBy::keys) lines.push_back(line);
  }
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].key, "sglang-0.5.9, 8");
  EXPECT_EQ(lines[0].errors.figures, 2);
  EXPECT_NEAR(lines[0].errors.mape, 0.3, 1e-12);  // 20 and 40 %
  EXPECT_EQ(lines[1].key, "sglang-0.5.9, -");
  EXPECT_EQ(ledger_keys(cases), (std::vector<std::string>{"tp", "version"}));
}

TEST(Validation, CasesWithoutAGroupAreNoGroup) {
  for (const LedgerLine& line : ledger_of({case_of("h100", {figure(10, 11)})})) {
    EXPECT_NE(line.by, LedgerBy::group);
  }
}

TEST(Validation, FiguresWithoutARelativeErrorAreLeftOut) {
  EXPECT_TRUE(ledger_of({case_of("h100", {figure(0, 1)})}).empty());
}

TEST(Validation, TheClosestLimitIsTheOneThatCounts) {
  const std::vector<LedgerLine> ledger = ledger_of({case_of("h100", {figure(10, 12)})});
  EXPECT_TRUE(exceeded_limits(ledger, {}).empty());
  EXPECT_EQ(exceeded_limits(ledger, {{.share = 0.1}}).size(), 1U);
  EXPECT_TRUE(exceeded_limits(ledger, {{.share = 0.1}, {.name = "ttft_s", .share = 0.3}}).empty());
  EXPECT_TRUE(exceeded_limits(ledger, {{.name = "ttft_s", .share = 0.3}, {.share = 0.1}}).empty());
  const auto exceeded =
      exceeded_limits(ledger, {{.name = "ttft_s", .statistic = "mean", .share = 0.15},
                               {.name = "ttft_s", .share = 0.3},
                               {.name = "tpot_s", .share = 0.0}});
  ASSERT_EQ(exceeded.size(), 1U);
  EXPECT_EQ(exceeded[0].limit, 0.15);
  EXPECT_NEAR(exceeded[0].mape, 0.2, 1e-12);
}

TEST(Validation, ALimitIsPastOnlyBeyondIt) {
  const std::vector<LedgerLine> ledger = ledger_of({case_of("h100", {figure(4, 5)})});
  EXPECT_TRUE(exceeded_limits(ledger, {{.share = 0.25}}).empty());
}

TEST(Validation, ALimitOnWhatNoFigureIsAboutIsNotJudged) {
  const std::vector<LedgerLine> ledger = ledger_of({case_of("h100", {figure(4, 5)})});  // ttft_s
  const auto unjudged = unjudged_limits(ledger, {{.share = 0.1},
                                                 {.name = "ttft_s", .share = 0.1},
                                                 {.name = "ttft_s", .statistic = "p99"},
                                                 {.name = "queue_s", .share = 0.1}});
  ASSERT_EQ(unjudged.size(), 2U);
  EXPECT_EQ(unjudged[0].statistic, "p99");
  EXPECT_EQ(unjudged[1].name, "queue_s");
  EXPECT_EQ(unjudged_limits({}, {{.share = 0.1}}).size(), 1U);
}

}  // namespace
}  // namespace roofcast

#include "validate/version_drift.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

ComparedCase dated(const std::string& date, const std::string& conc, double measured_ms,
                   double predicted_ms) {
  ComparedCase one{.keys = {{"engine_name", "sglang"},
                            {"tp", "8"},
                            {"load", "1024/1024"},
                            {"conc", conc},
                            {"date", date}},
                   .gpu = "amd-mi355x",
                   .model = "m"};
  one.figures = {
      {.name = "tpot_s",
       .statistic = "mean",
       .measured = measured_ms / 1000,
       .predicted = predicted_ms / 1000},
      {.name = "output_tokens_per_s_per_gpu", .statistic = "value", .measured = 1, .predicted = 1}};
  return one;
}

TEST(VersionDrift, IsTheSlowestOverTheFastestDateOfASetting) {
  // Largest ratios: 30 / 10 = 3 with 4 requests (predicted 20 / 16 = 1.25), 20 / 16 = 1.25 with 8;
  // one run of 16 has nothing to compare with. The median of two is their mean.
  const std::vector<VersionDrift> drift =
      version_drift({dated("2025-12-10", "4", 30, 20), dated("2026-02-01", "4", 15, 18),
                     dated("2026-05-01", "4", 10, 16), dated("2026-01-01", "8", 20, 20),
                     dated("2026-02-01", "8", 16, 20), dated("2026-02-01", "16", 20, 20)});
  ASSERT_EQ(drift.size(), 2U);  // the vendor, and its one GPU
  EXPECT_EQ(drift[0].vendor, "amd");
  EXPECT_EQ(drift[0].gpu, "");
  EXPECT_EQ(drift[0].engine, "sglang");
  EXPECT_EQ(drift[0].half_year, "2026-1");
  EXPECT_EQ(drift[0].settings, 2);
  EXPECT_NEAR(drift[0].median, 2.125, 1e-12);
  EXPECT_NEAR(drift[0].largest, 3, 1e-12);
  EXPECT_NEAR(drift[0].predicted, 1.25, 1e-12);
  EXPECT_EQ(drift[0].setting, "amd-mi355x, m 1024/1024, sglang tp8, x4");
  EXPECT_EQ(drift[1].gpu, "amd-mi355x");
}

TEST(VersionDrift, RunsOverHalfAYearApartDoNotCompare) {
  // From 2025-06-01 to 2025-12-02 are 184 days.
  EXPECT_EQ(
      version_drift({dated("2025-06-01", "4", 30, 30), dated("2025-12-02", "4", 10, 30)}).size(),
      2U);
  EXPECT_TRUE(
      version_drift({dated("2025-06-01", "4", 30, 30), dated("2025-12-03", "4", 10, 30)}).empty());
}

TEST(VersionDrift, TheHalfYearIsThatOfTheLaterRun) {
  const std::vector<VersionDrift> drift =
      version_drift({dated("2026-06-01", "4", 30, 30), dated("2026-07-01", "4", 10, 30)});
  ASSERT_FALSE(drift.empty());
  EXPECT_EQ(drift[0].half_year, "2026-2");
}

TEST(VersionDrift, ACaseWithoutADateOrWithoutTpotIsLeftOut) {
  ComparedCase no_date = dated("", "4", 30, 30);
  ComparedCase no_tpot = dated("2026-05-01", "4", 10, 10);
  no_tpot.figures.erase(no_tpot.figures.begin());
  EXPECT_TRUE(version_drift({no_date, no_tpot, dated("2026-04-01", "4", 20, 20)}).empty());
}

}  // namespace
}  // namespace roofcast::test

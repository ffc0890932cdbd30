#include "simulator/results/token_gaps.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

TEST(TokenGaps, EqualGapsInARowAreOneRun) {
  TokenGaps gaps(1);
  gaps.add(0, 10);
  gaps.add(0, 10, 3);
  gaps.add(0, 20, 2);
  gaps.add(0, 10);
  const auto runs = gaps.runs(0);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].gap, 10);
  EXPECT_EQ(runs[0].count, 4);
  EXPECT_EQ(runs[1].count, 2);
  EXPECT_EQ(runs[2].count, 1);
  EXPECT_EQ(gaps.counted(0).count(), 7);
}

TEST(TokenGaps, ARequestHasTheLogOfItsStageAndClass) {
  // Three classes: stage 1, class 2 is the sixth log.
  const TokenGaps gaps(3, 2);
  EXPECT_EQ(gaps.index_of(Request{.slo_class = 2, .stage = 1}), 5u);
  EXPECT_EQ(gaps.index_of(Request{}), 0u);
  EXPECT_EQ(gaps.stages(), 2u);
  EXPECT_EQ(gaps.classes(), 3u);
}

/// Alternating gaps of 1 and 2 ms in log 0, so that each is its own run.
void add_runs(TokenGaps& gaps, std::size_t runs) {
  for (std::size_t i = 0; i < runs; ++i) gaps.add(0, i % 2 == 0 ? 1'000'000 : 2'000'000);
}

TEST(TokenGaps, AMillionRunsAreKept) {
  TokenGaps gaps(1);
  add_runs(gaps, TokenGaps::kMaxRuns);
  EXPECT_EQ(TokenGaps::kMaxRuns, 1'000'000u);
  EXPECT_TRUE(gaps.exact());
  EXPECT_EQ(gaps.runs(0).size(), TokenGaps::kMaxRuns);
  gaps.add(0, 2'000'000);  // the last run continues
  EXPECT_TRUE(gaps.exact());
}

TEST(TokenGaps, OneMoreTurnsAllLogsIntoHistograms) {
  TokenGaps gaps(2);
  gaps.add(1, 5'000'000, 7);
  add_runs(gaps, TokenGaps::kMaxRuns - 1);
  EXPECT_TRUE(gaps.exact());
  gaps.add(0, 2'000'000);
  EXPECT_FALSE(gaps.exact());
  EXPECT_LE(gaps.runs(0).size(), 1u);
  EXPECT_LE(gaps.runs(1).size(), 1u);
  EXPECT_EQ(gaps.counted(0).count(), 1'000'000);
  EXPECT_EQ(gaps.counted(1).count(), 7);
}

TEST(TokenGaps, NoGapIsLostAfterwards) {
  TokenGaps gaps(2);
  add_runs(gaps, TokenGaps::kMaxRuns);
  for (int i = 0; i < 5000; ++i) gaps.add(1, 1000 + i % 3, 2);
  EXPECT_FALSE(gaps.exact());
  EXPECT_LE(gaps.runs(1).size(), 1u);
  EXPECT_EQ(gaps.counted(0).count(), 1'000'000);
  EXPECT_EQ(gaps.counted(1).count(), 10'000);
  EXPECT_EQ(gaps.counted(1).max(), 1002);
  EXPECT_DOUBLE_EQ(gaps.counted(0).mean_s(), 1.5e-3);
}

}  // namespace
}  // namespace roofcast::test

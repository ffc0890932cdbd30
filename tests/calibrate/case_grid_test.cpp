#include "calibrate/case_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace roofcast {
namespace {

std::map<std::int64_t, int> passes(const std::vector<AxisPoint>& axis) {
  std::map<std::int64_t, int> result;
  for (const AxisPoint& point : axis) result[point.value] = point.pass;
  EXPECT_EQ(result.size(), axis.size()) << "a size stands twice";
  return result;
}

TEST(CaseGrid, TokensArePowersOfTwoThoseOfEightAndTheLargestFirst) {
  const std::map<std::int64_t, int> expected{{1, 0}, {2, 1}, {4, 1}, {8, 0}, {16, 1}, {32, 0}};
  EXPECT_EQ(passes(token_axis(40)), expected);
}

TEST(CaseGrid, GemmsHaveBothSidesOfEachPowerOfTwo) {
  const std::map<std::int64_t, int> expected{{1, 0},  {2, 1},  {4, 1},  {8, 0},  {16, 1}, {17, 2},
                                             {24, 3}, {32, 1}, {33, 2}, {48, 3}, {64, 0}};
  EXPECT_EQ(passes(gemm_axis(64)), expected);
}

TEST(CaseGrid, GemmsOfAKnownFormFollowItsTilesAndBlocks) {
  // Tiles of 4, 8, 16, 32 rows below a block and their middles 12 and 24; what follows the last
  // streamed size, 32; blocks of 48 times 1, 2, 4, 8, 16; both ends.
  const std::map<std::int64_t, int> four{{1, 0},  {2, 2},   {4, 1},   {8, 0},   {12, 2},
                                         {16, 1}, {24, 2},  {32, 0},  {33, 2},  {48, 1},
                                         {96, 1}, {192, 0}, {384, 1}, {768, 1}, {1024, 0}};
  EXPECT_EQ(passes(gemm_axis(1024, {.tile = 4, .streamed = 32, .block = 48})), four);
  // 2 and 4 are below a tile of 6; one tile is streamed, so that nothing changes at 7.
  const std::map<std::int64_t, int> six{{1, 0},  {2, 2},  {4, 2},  {6, 1},  {12, 0}, {18, 2},
                                        {24, 1}, {36, 2}, {48, 0}, {72, 2}, {96, 1}, {128, 0}};
  EXPECT_EQ(passes(gemm_axis(128, {.tile = 6, .streamed = 6, .block = 96})), six);
}

TEST(CaseGrid, GemmsOfAnUnknownFormHaveTheUsualSizes) {
  EXPECT_EQ(passes(gemm_axis(512, {})), passes(gemm_axis(512)));
}

TEST(CaseGrid, AGemmAxisEndsAtItsLargest) {
  for (const std::int64_t largest : {1, 16, 17, 20, 24, 100}) {
    const auto axis = passes(gemm_axis(largest));
    EXPECT_EQ(axis.begin()->first, 1);
    EXPECT_LE(axis.rbegin()->first, largest);
  }
}

TEST(CaseGrid, DecodeHasTheLongestContextInEveryRow) {
  const std::vector<GridPoint> grid = decode_grid(4, 5000, 1e9);
  // Sequences 1, 2, 4 by contexts 128, 512, 2048, 5000.
  ASSERT_EQ(grid.size(), 12u);
  std::set<std::pair<std::int64_t, std::int64_t>> coarse;
  for (const GridPoint& point : grid) {
    if (point.pass == 0) coarse.emplace(point.x, point.y);
  }
  // Of the sequences 1 is a power of eight, 4 the largest.
  const std::set<std::pair<std::int64_t, std::int64_t>> expected{{1, 128}, {1, 2048}, {1, 5000},
                                                                 {4, 128}, {4, 2048}, {4, 5000}};
  EXPECT_EQ(coarse, expected);
}

TEST(CaseGrid, DecodeIsBoundedByTheTokensThatFit) {
  for (const GridPoint& point : decode_grid(256, 131072, 1e6)) {
    EXPECT_LE(point.x * point.y, 1'000'000);
  }
}

TEST(CaseGrid, PrefillTogetherIsNeverLongerThanTheContext) {
  const std::vector<GridPoint> grid = prefill_grid(8192, 1024);
  EXPECT_TRUE(std::any_of(grid.begin(), grid.end(),
                          [](const GridPoint& p) { return p.x == 512 && p.y == 256; }));
  for (const GridPoint& point : grid) {
    EXPECT_GE(point.x, 16);
    EXPECT_LE(point.x + point.y, 1024);
    EXPECT_LT(point.pass, kPasses);
  }
}

TEST(CaseGrid, FinerPassesAddToCoarseOnes) {
  // A grid that ends after pass 0 still has small, middle and large prompts.
  std::set<std::int64_t> first;
  for (const GridPoint& point : prefill_grid(8192, 131072)) {
    if (point.pass == 0) first.insert(point.x);
  }
  EXPECT_EQ(first, (std::set<std::int64_t>{64, 512, 4096, 8192}));
}

}  // namespace
}  // namespace roofcast

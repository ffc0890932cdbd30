// The index arithmetic of the CUDA attention kernels.
#include "kernels/cuda/attention_tile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace roofcast::kernels::cuda {
namespace {

template <class PlaceOf>
std::map<std::pair<int, int>, int> visits(int elements, const PlaceOf& place_of) {
  std::map<std::pair<int, int>, int> count;
  for (int lane = 0; lane < kWarpThreads; ++lane) {
    for (int i = 0; i < elements; ++i) {
      const Place place = place_of(lane, i);
      ++count[{place.row, place.column}];
    }
  }
  return count;
}

void expect_each_once(const std::map<std::pair<int, int>, int>& count, int rows, int columns) {
  EXPECT_EQ(count.size(), static_cast<std::size_t>(rows * columns));
  for (const auto& [place, times] : count) {
    EXPECT_EQ(times, 1);
    EXPECT_LT(place.first, rows);
    EXPECT_LT(place.second, columns);
  }
}

TEST(Fragments, HoldEachElementOnce) {
  expect_each_once(visits(8, place_in_a), kFragmentRows, kFragmentDepth);
  expect_each_once(visits(4, place_in_b), kFragmentDepth, kFragmentWidth);
  expect_each_once(visits(4, place_in_c), kFragmentRows, kFragmentWidth);
}

TEST(Fragments, LieAsThePtxManualHasThem) {
  // Figures of the PTX ISA manual, mma.m16n8k16: lane 5 is group 1, thread 1 of it.
  EXPECT_EQ(place_in_a(5, 0).row, 1);
  EXPECT_EQ(place_in_a(5, 0).column, 2);
  EXPECT_EQ(place_in_a(5, 3).row, 9);  // a2, a3: eight rows down
  EXPECT_EQ(place_in_a(5, 3).column, 3);
  EXPECT_EQ(place_in_a(5, 4).row, 1);  // a4, a5: eight columns on
  EXPECT_EQ(place_in_a(5, 4).column, 10);
  EXPECT_EQ(place_in_b(5, 2).row, 10);  // b2, b3: eight rows down
  EXPECT_EQ(place_in_b(5, 2).column, 1);
  EXPECT_EQ(place_in_c(5, 2).row, 9);  // c2, c3: eight rows down
  EXPECT_EQ(place_in_c(5, 2).column, 2);
}

template <int kRowBytes>
void check_swizzle() {
  SCOPED_TRACE(kRowBytes);
  constexpr int kRows = 64;
  constexpr int kChunks = kRowBytes / kChunkBytes;
  std::set<std::uint32_t> offsets;
  for (int row = 0; row < kRows; ++row) {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const std::uint32_t offset = swizzled<kRowBytes>(row, chunk);
      EXPECT_EQ(offset % kChunkBytes, 0U);
      EXPECT_EQ(offset / kRowBytes, static_cast<std::uint32_t>(row));  // stays in its row
      offsets.insert(offset);
      const int step = chunk % 8 < 2 ? 2 : 4;  // see further_chunk()
      for (int further = 0; chunk % 8 < 4 && further + chunk < kChunks; further += step) {
        EXPECT_EQ(further_chunk(1024 + offset, further),
                  1024 + swizzled<kRowBytes>(row, chunk + further));
      }
    }
  }
  EXPECT_EQ(offsets.size(), static_cast<std::size_t>(kRows * kChunks));
  // A matrix load reads one chunk of eight rows: 128 bytes, which must lie in different banks.
  for (int first = 0; first < kRows; first += 8) {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      std::set<std::uint32_t> banks;
      for (int row = first; row < first + 8; ++row) {
        banks.insert(swizzled<kRowBytes>(row, chunk) % 128 / kChunkBytes);
      }
      EXPECT_EQ(banks.size(), 8U) << "rows from " << first << ", chunk " << chunk;
    }
  }
}

TEST(Swizzle, MovesNoChunkOntoAnotherAndReadsWithoutBankConflicts) {
  check_swizzle<64>();    // fp8, 64 elements
  check_swizzle<128>();   // 64 elements
  check_swizzle<256>();   // 128
  check_swizzle<512>();   // 256
  check_swizzle<1152>();  // 512 + 64, latent attention
}

TEST(CacheRow, IsThePagesRowAndThePlaceInIt) {
  EXPECT_EQ(cache_row(5, 37, 4), 5U * 16 + 5);  // token 37 is the sixth of its page of 16
  EXPECT_EQ(cache_row(7, 12, 0), 7U);           // pages of one token
  EXPECT_EQ(cache_row(2, 255, 8), 2U * 256 + 255);
}

TEST(VisibleTokens, EndWithTheOwnAndAreAtMostAWindow) {
  const auto expect = [](int position, int window, int first, int end) {
    const TokenRange range = visible_from(position, window);
    EXPECT_EQ(range.first, first) << position << " " << window;
    EXPECT_EQ(range.end, end) << position << " " << window;
  };
  expect(0, 0, 0, 1);
  expect(9, 0, 0, 10);
  expect(9, 1, 9, 10);
  expect(9, 4, 6, 10);
  expect(9, 10, 0, 10);
  expect(9, 11, 0, 10);
  expect(-1, 0, 0, 0);  // no token at all
  expect(-1, 8, 0, 0);
}

TEST(Units, CoverWhatIsVisible) {
  for (const int length : {0, 1, 15, 16, 17, 63, 64, 65, 128, 129, 1000}) {
    for (const int window : {0, 1, 16, 50, 64, 65, 200}) {
      const TokenRange visible = visible_from(length - 1, window);
      const int first = first_unit_token(visible);
      EXPECT_LE(first, visible.first);
      EXPECT_EQ(first % 16, 0);
      const int units = units_of(visible);
      EXPECT_GE(first + units * kUnitTokens, visible.end);
      EXPECT_GE(units, 1);
      if (units > 1) {
        EXPECT_LT(first + (units - 1) * kUnitTokens, visible.end);
      }
    }
  }
}

/// The parts of items as the kernels count them, from the shares of all CTAs.
TEST(Shares, DealEveryUnitOnceAndPartsAreTheCtasThatMeet) {
  const std::vector<int> items = {1, 7, 3, 64, 1, 1, 200, 5};
  int total = 0;
  for (const int units : items) total += units;
  for (const int ctas : {1, 2, 5, 100, 264, 1000}) {
    SCOPED_TRACE(ctas);
    const int share = units_per_cta(total, ctas);
    EXPECT_GE(static_cast<std::int64_t>(share) * ctas, total);
    EXPECT_GT(total, static_cast<std::int64_t>(share - 1) * ctas);  // no larger than it must be
    int first = 0;
    for (const int units : items) {
      std::set<int> meeting;
      for (int unit = first; unit < first + units; ++unit) meeting.insert(unit / share);
      EXPECT_EQ(parts_of(first, units, share), static_cast<int>(meeting.size()));
      first += units;
    }
  }
}

}  // namespace
}  // namespace roofcast::kernels::cuda

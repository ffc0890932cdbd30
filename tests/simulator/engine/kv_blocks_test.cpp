#include "simulator/engine/kv_blocks.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

TEST(KvBlocks, TheNullBlockCannotBeUsed) {
  const KvBlocks blocks(uniform_layout(16), 2588, 2048);
  EXPECT_EQ(blocks.usable(), 2587);
  EXPECT_EQ(blocks.free(), 2587);
}

TEST(KvBlocks, ASequenceHoldsItsTokensRoundedUpToBlocks) {
  KvBlocks blocks(uniform_layout(16), 101, 2048);
  KvHolding holding;
  ASSERT_TRUE(blocks.grow(holding, 16, 16));
  EXPECT_EQ(blocks.used(), 1);
  ASSERT_TRUE(blocks.grow(holding, 17, 1));
  EXPECT_EQ(blocks.used(), 2);
  ASSERT_TRUE(blocks.grow(holding, 32, 1));
  EXPECT_EQ(blocks.used(), 2);
  ASSERT_TRUE(blocks.grow(holding, 33, 1));
  EXPECT_EQ(blocks.used(), 3);
  blocks.release(holding);
  EXPECT_EQ(blocks.used(), 0);
  EXPECT_EQ(holding.blocks, 0);
}

TEST(KvBlocks, WhatDoesNotFitChangesNothing) {
  KvBlocks blocks(uniform_layout(4), 4, 100);  // 3 usable
  KvHolding a, b;
  ASSERT_TRUE(blocks.grow(a, 8, 8));
  EXPECT_FALSE(blocks.grow(b, 5, 5));
  EXPECT_EQ(b.blocks, 0);
  EXPECT_EQ(blocks.free(), 1);
  EXPECT_TRUE(blocks.grow(b, 4, 4));
  EXPECT_EQ(blocks.free(), 0);
}

CacheLayout hybrid_layout() {
  // Blocks of 16: full attention, a window of 64, and a recurrent state of 2 rows.
  CacheLayout layout = uniform_layout(16);
  layout.groups.resize(3);
  layout.groups[1].span = {.kind = AttentionSpan::Kind::sliding, .tokens = 64};
  layout.groups[2].recurrent = true;
  layout.groups[2].rows_per_sequence = 2;
  return layout;
}

TEST(KvBlocks, EveryGroupOfAHybridModelTakesItsOwn) {
  // A chunk of 320 tokens: full 320 / 16 = 20; the window as many, for all are in flight; state 2.
  KvBlocks blocks(hybrid_layout(), 1000, 512);
  KvHolding holding;
  ASSERT_TRUE(blocks.grow(holding, 320, 320));
  EXPECT_EQ(blocks.used(), 20 + 20 + 2);
}

TEST(KvBlocks, AWindowGivesBackWhatHasLeftItAtTheNextDecode) {
  // 321 tokens, one in flight: full 21; window (63 + 1) / 16 + 1 = 5; state 2.
  KvBlocks blocks(hybrid_layout(), 1000, 512);
  KvHolding holding;
  ASSERT_TRUE(blocks.grow(holding, 320, 320));
  ASSERT_TRUE(blocks.grow(holding, 321, 1));
  EXPECT_EQ(blocks.used(), 21 + 5 + 2);
  // 336 tokens still fit the full group's 21 blocks; the 337th takes one.
  ASSERT_TRUE(blocks.grow(holding, 336, 1));
  EXPECT_EQ(blocks.used(), 21 + 5 + 2);
  ASSERT_TRUE(blocks.grow(holding, 337, 1));
  EXPECT_EQ(blocks.used(), 22 + 5 + 2);
}

TEST(KvBlocks, GroupsWithLargerBlocksCrossTheirOwnBoundaries) {
  // Blocks of 16 and of 24 tokens: 40 tokens are 3 + 2, 49 tokens 4 + 3.
  CacheLayout layout = uniform_layout(16);
  layout.groups.resize(2);
  layout.groups[1].block_tokens = 24;
  KvBlocks blocks(layout, 100, 512);
  KvHolding holding;
  ASSERT_TRUE(blocks.grow(holding, 40, 1));
  EXPECT_EQ(blocks.used(), 5);
  ASSERT_TRUE(blocks.grow(holding, 48, 1));
  EXPECT_EQ(blocks.used(), 5);
  ASSERT_TRUE(blocks.grow(holding, 49, 1));
  EXPECT_EQ(blocks.used(), 7);
}

TEST(KvBlocks, ARecurrentModelHoldsTheSameWhateverItsLength) {
  CacheLayout layout = uniform_layout(16);
  layout.groups[0].recurrent = true;
  layout.groups[0].rows_per_sequence = 1;
  KvBlocks blocks(layout, 3, 512);
  KvHolding holding;
  ASSERT_TRUE(blocks.grow(holding, 500, 500));
  ASSERT_TRUE(blocks.grow(holding, 1'000'000, 1));
  EXPECT_EQ(blocks.used(), 1);
}

}  // namespace
}  // namespace roofcast::test

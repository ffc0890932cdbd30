#include "simulator/engine/block_keys.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

using Spans = std::vector<ContentSpan>;

std::vector<BlockKey> keys_of(const Spans& contents, std::int32_t adapter = -1) {
  return block_keys(contents, 16, adapter);
}

TEST(BlockKeys, OnlyFullBlocksHaveThem) {
  EXPECT_EQ(keys_of({{7, 15}}).size(), 0u);
  EXPECT_EQ(keys_of({{7, 16}}).size(), 1u);
  EXPECT_EQ(keys_of({{7, 10}, {8, 21}}).size(), 1u);
  EXPECT_EQ(keys_of({{7, 10}, {8, 22}}).size(), 2u);
}

TEST(BlockKeys, ALongerSpanBeginsWithTheShorterOnesBlocks) {
  const auto shorter = keys_of({{7, 32}});
  const auto longer = keys_of({{7, 100}});
  EXPECT_EQ(longer[0], shorter[0]);
  EXPECT_EQ(longer[1], shorter[1]);
}

TEST(BlockKeys, AKeyTellsTheBlocksBeforeIt) {
  const auto a = keys_of({{7, 16}, {9, 16}});
  const auto b = keys_of({{8, 16}, {9, 16}});
  EXPECT_NE(a[0], b[0]);
  EXPECT_NE(a[1], b[1]);
}

TEST(BlockKeys, APlaceWithinASpanIsToldFromAnother) {
  const auto keys = keys_of({{7, 48}});
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_NE(keys[1], keys[2]);
}

TEST(BlockKeys, WhereOneSpanEndsAndTheNextBeginsMatters) {
  // Ten tokens of one content and six of another are not twelve and four.
  EXPECT_NE(keys_of({{7, 10}, {8, 20}})[0], keys_of({{7, 12}, {8, 20}})[0]);
}

// From every prefix of the keys, over spans that end within blocks, at their ends and beyond
// several.
TEST(BlockKeys, ExtendedOnesAreThoseComputedAtOnce) {
  const Spans contents = {{7, 10}, {8, 22}, {9, 5}, {3, 1}, {4, 64}, {5, 17}};
  const auto whole = keys_of(contents, 2);
  ASSERT_EQ(whole.size(), 7u);  // 119 tokens
  for (std::size_t known = 0; known <= whole.size(); ++known) {
    std::vector<BlockKey> keys(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(known));
    extend_block_keys(keys, contents, 16, 2);
    EXPECT_EQ(keys, whole) << known;
  }
}

TEST(BlockKeys, AdaptersShareNothing) {
  EXPECT_NE(keys_of({{7, 16}}, -1)[0], keys_of({{7, 16}}, 0)[0]);
  EXPECT_NE(keys_of({{7, 16}}, 0)[0], keys_of({{7, 16}}, 1)[0]);
}

TEST(BlockKeys, WhatARequestAloneHoldsFollowsWhatItShares) {
  const Spans contents = {{7, 40}};
  const auto shared = keys_of(contents);
  const auto a = own_block_keys(contents, 64, 16, -1, 1);
  const auto b = own_block_keys(contents, 64, 16, -1, 2);
  ASSERT_EQ(a.size(), 4u);
  EXPECT_EQ(a[0], shared[0]);
  EXPECT_EQ(a[1], shared[1]);
  EXPECT_NE(a[2], b[2]);  // 8 tokens shared, 8 not
  EXPECT_NE(a[3], b[3]);
  // Another request's content beyond the 40 tokens is not what these two went on with.
  EXPECT_NE(keys_of({{7, 48}})[2], a[2]);
}

}  // namespace
}  // namespace roofcast::test

// Tests the tree alone, with tokens counted by hand. Runs are {content, first position, tokens}.
#include "simulator/engine/radix_cache.hpp"

#include <gtest/gtest.h>

#include <boost/random/uniform_int_distribution.hpp>
#include <vector>

#include "simulator/random.hpp"

namespace roofcast::test {
namespace {

using Runs = std::vector<TokenRun>;
constexpr std::int32_t kBase = -1;  // no adapter
constexpr std::int64_t kAll = 1'000'000;

TEST(RadixCache, MatchesToTheToken) {
  RadixCache cache(1);
  cache.insert(Runs{{1, 0, 100}, {2, 0, 50}}, kBase);
  EXPECT_EQ(cache.evictable_tokens(), 150);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}, {2, 0, 50}, {3, 0, 9}}, kBase, kAll), 150);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}, {2, 0, 49}}, kBase, kAll), 149);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 73}, {9, 0, 50}}, kBase, kAll), 73);
  EXPECT_EQ(cache.matched_tokens(Runs{{2, 0, 50}}, kBase, kAll), 0);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}}, kBase, 99), 99);
}

TEST(RadixCache, SplitsWhereTwoSequencesPart) {
  // 100 tokens in common, then 50 and 30 of their own: 180 resident, not 230.
  RadixCache cache(1);
  cache.insert(Runs{{1, 0, 100}, {2, 0, 50}}, kBase);
  const auto second = cache.insert(Runs{{1, 0, 100}, {3, 0, 30}}, kBase);
  EXPECT_EQ(second.present, 100);
  EXPECT_EQ(second.tokens, 130);
  EXPECT_EQ(cache.evictable_tokens(), 180);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}, {2, 0, 50}}, kBase, kAll), 150);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}, {3, 0, 30}}, kBase, kAll), 130);
  // Again: all of it is there.
  EXPECT_EQ(cache.insert(Runs{{1, 0, 100}, {3, 0, 30}}, kBase).present, 130);
  EXPECT_EQ(cache.evictable_tokens(), 180);
}

TEST(RadixCache, SharesWholePagesOnly) {
  // Pages of 16. 100 tokens are 6 pages: 96. Two sequences that part at token 90 share 5 pages: 80,
  // and the sixth page is there twice, beginning with the same token.
  RadixCache cache(16);
  EXPECT_EQ(cache.insert(Runs{{1, 0, 100}}, kBase).tokens, 96);
  EXPECT_EQ(cache.insert(Runs{{1, 0, 90}, {2, 0, 10}}, kBase).present, 80);
  EXPECT_EQ(cache.evictable_tokens(), 96 + 16);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}}, kBase, kAll), 96);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 90}, {2, 0, 10}}, kBase, kAll), 96);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}}, kBase, 95), 80);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 15}, {3, 0, 100}}, kBase, kAll), 0);
}

TEST(RadixCache, AdaptersShareNothing) {
  RadixCache cache(1);
  cache.insert(Runs{{1, 0, 100}}, 0);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}}, 1, kAll), 0);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}}, kBase, kAll), 0);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}}, 0, kAll), 100);
}

TEST(RadixCache, EvictsTheLeastRecentlyUsedLeafAndThenItsParent) {
  // 100 in common, leaves of 50 and 30; the first of these used last.
  RadixCache cache(1);
  cache.insert(Runs{{1, 0, 100}, {2, 0, 50}}, kBase);
  cache.insert(Runs{{1, 0, 100}, {3, 0, 30}}, kBase);
  cache.match(Runs{{1, 0, 100}, {2, 0, 50}}, kBase, kAll);
  cache.evict_down_to(179);
  EXPECT_EQ(cache.evictable_tokens(), 150);  // a leaf goes whole
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}, {3, 0, 30}}, kBase, kAll), 100);
  cache.evict_down_to(149);
  EXPECT_EQ(cache.evictable_tokens(), 100);
  cache.evict_down_to(99);
  EXPECT_EQ(cache.evictable_tokens(), 0);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}}, kBase, kAll), 0);
}

TEST(RadixCache, LockedTokensStayWithAllBeforeThem) {
  RadixCache cache(1);
  cache.insert(Runs{{1, 0, 100}, {2, 0, 50}}, kBase);
  const auto first = cache.match(Runs{{1, 0, 100}, {2, 0, 50}}, kBase, 120);
  EXPECT_EQ(cache.unlocked_tokens(first.node), 120);
  EXPECT_EQ(cache.lock(first.node), 120);
  EXPECT_EQ(cache.locked_tokens(), 120);
  EXPECT_EQ(cache.evictable_tokens(), 30);
  // A second user of the first 100 splits a locked node: nothing is newly locked.
  const auto second = cache.match(Runs{{1, 0, 100}}, kBase, kAll);
  EXPECT_EQ(cache.lock(second.node), 0);
  cache.evict_down_to(0);
  EXPECT_EQ(cache.evictable_tokens(), 0);
  EXPECT_EQ(cache.matched_tokens(Runs{{1, 0, 100}, {2, 0, 50}}, kBase, kAll), 120);
  // The first user leaves: its 20 beyond the second's are free, the rest with the second.
  EXPECT_EQ(cache.unlock(first.node), 20);
  EXPECT_EQ(cache.unlock(second.node), 100);
  EXPECT_EQ(cache.locked_tokens(), 0);
  EXPECT_EQ(cache.evictable_tokens(), 120);
}

/// A sequence of 40 tokens from few contents, so that many share a prefix.
Runs random_runs(RandomStream& random) {
  boost::random::uniform_int_distribution<std::int64_t> length(1, 20), content(1, 2);
  Runs runs;
  for (std::int64_t tokens = 0; tokens < 40;) {
    const std::int64_t piece = std::min<std::int64_t>(length(random), 40 - tokens);
    runs.push_back({static_cast<std::uint64_t>(content(random)), 0, piece});
    tokens += piece;
  }
  return runs;
}

TEST(RadixCache, FindsWhatAListOfSequencesFinds) {
  // Against the obvious way: the longest common beginning with any sequence inserted before, in
  // whole pages.
  for (const std::int64_t page : {1, 3, 16}) {
    RandomStream random = random_stream(static_cast<std::uint64_t>(page), "radix");
    RadixCache cache(page);
    std::vector<Runs> inserted;
    for (int i = 0; i < 500; ++i) {
      const Runs runs = random_runs(random);
      std::int64_t longest = 0;
      for (const Runs& other : inserted) {
        const std::int64_t whole = 40 / page * page;
        longest = std::max(longest, std::min(common_tokens(runs, {}, other), whole));
      }
      ASSERT_EQ(cache.matched_tokens(runs, kBase, kAll), longest / page * page) << i;
      ASSERT_EQ(cache.insert(runs, kBase).present, longest / page * page) << i;
      inserted.push_back(runs);
    }
  }
}

}  // namespace
}  // namespace roofcast::test

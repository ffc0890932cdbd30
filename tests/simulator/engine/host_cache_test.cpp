#include "simulator/engine/host_cache.hpp"

#include <gtest/gtest.h>

#include <array>

namespace roofcast::test {
namespace {

constexpr std::array<BlockKey, 4> kKeys = {11, 12, 13, 14};

std::int64_t found(const HostCache& cache) { return cache.find(kKeys); }

TEST(HostCache, ForgetsTheLeastRecentlyStored) {
  HostCache cache(3);
  for (const BlockKey key : kKeys) cache.store(key);
  EXPECT_EQ(cache.size(), 3);
  EXPECT_EQ(found(cache), 0);  // the first has gone
  EXPECT_EQ(cache.find(std::span(kKeys).subspan(1)), 3);
}

TEST(HostCache, FindsLeadingKeysOnly) {
  HostCache cache(10);
  cache.store(11);
  cache.store(12);
  cache.store(14);
  EXPECT_EQ(found(cache), 2);
}

TEST(HostCache, WhatIsUsedStaysAndItsEndGoesFirst) {
  HostCache cache(4);
  for (const BlockKey key : kKeys) cache.store(key);
  cache.touch(std::span(kKeys).first(2));  // least recent first: 13, 14, 12, 11
  cache.store_nameless(3);
  EXPECT_EQ(found(cache), 1);
  cache.store(12);
  EXPECT_EQ(found(cache), 0);  // 11 was next
}

TEST(HostCache, BlocksWithoutAKeyUseUpRoom) {
  HostCache cache(4);
  cache.store_nameless(3);
  cache.store(11);
  cache.store(12);  // one of the three goes
  cache.store(13);
  EXPECT_EQ(cache.size(), 4);
  EXPECT_EQ(found(cache), 3);
}

TEST(HostCache, StoringAgainKeepsOne) {
  HostCache cache(4);
  cache.store(11);
  cache.store(11);
  EXPECT_EQ(cache.size(), 1);
}

}  // namespace
}  // namespace roofcast::test

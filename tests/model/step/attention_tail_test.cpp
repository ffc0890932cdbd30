#include "model/step/attention_tail.hpp"

#include <gtest/gtest.h>

namespace roofcast {
namespace {

// 100 multiprocessors run 200 blocks at once; a sequence has 8, one per KV head.
constexpr int kMultiprocessors = 100;
constexpr Seconds kToken{10e-9};

OperatorShape decode_shape() {
  return {.family = OperatorFamily::decode_attention,
          .query_heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .value_dim = 128};
}

/// Tail time in tokens, for sequences with a mean of 1,000. `filling` of them keep the memory busy:
/// an even batch of `sequences` takes sequences * 1,000 * kToken / filling.
double tail_tokens(double sequences, double filling, std::array<double, kLongestKept> longest) {
  const Seconds even = kToken * (sequences * 1000 / filling);
  const UnevenBatch batch{.sequences = sequences, .mean = 1000, .longest = longest};
  return tail_time(decode_shape(), batch, {even, kToken}, kMultiprocessors) / kToken;
}

TEST(AttentionTail, SequencesOfOneLengthEndTogether) {
  EXPECT_EQ(tail_tokens(25, 4, {1000, 1000, 1000, 1000, 1000}), 0);
}

TEST(AttentionTail, TheLongestReadsAloneWhatItHasBeyondThoseThatFillTheMemory) {
  // All 25 * 8 blocks run at once. The four longest have (5,000 + 2,000 + 1,000 + 1,000) / 4 =
  // 2,250.
  EXPECT_NEAR(tail_tokens(25, 4, {5000, 2000, 1000, 1000, 1000}), 2750, 1e-9);
  // Mean of the 2.5 longest: (5,000 + 2,000 + 1,000 / 2) / 2.5 = 3,000.
  EXPECT_NEAR(tail_tokens(25, 2.5, {5000, 2000, 1000, 1000}), 2000, 1e-9);
}

TEST(AttentionTail, NothingIsLostWhereOneSequenceFillsTheMemory) {
  EXPECT_EQ(tail_tokens(25, 1, {5000, 1000, 1000}), 0);
}

TEST(AttentionTail, BlocksThatLeaveTheDeviceIdleAreSplitAndEndTogether) {
  // 8 * 19 blocks are below 0.8 * 200, 8 * 20 are not.
  EXPECT_EQ(tail_tokens(19, 4, {5000, 1000, 1000, 1000}), 0);
  EXPECT_GT(tail_tokens(20, 4, {5000, 1000, 1000, 1000}), 0);
}

TEST(AttentionTail, BesidePromptsTheLastHeadsBlocksEndTheBatch) {
  OperatorShape shape = decode_shape();
  shape.beside_prefill = true;
  const UnevenBatch batch{.sequences = 50, .mean = 1000, .longest = {4000, 3000}};
  const EvenKernel even{.time = Seconds{1e-3}, .token = kToken};
  EXPECT_NEAR(tail_time(shape, batch, even, kMultiprocessors) / kToken, 3000, 1e-9);
}

TEST(AttentionTail, OfManySequencesOnlyTheLastHeadsBlocksAreLeftAtTheEnd) {
  // 50 * 8 blocks, of which 200 run at once: at the end each sequence has four, and it takes those
  // of eight to fill the memory as the eight of four did: (4,000 + 7 * 1,000) / 8 = 1,375.
  EXPECT_NEAR(tail_tokens(50, 4, {4000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}), 2625, 1e-9);
}

TEST(AttentionTail, TheLongestOnesLastBlockHasReadMoreTheEarlierItStarted) {
  // 100 sequences: two blocks of each at the end, 16 fill the memory, and v = 1,000 to 1,500. All
  // but the longest have 970: (3,970 + 15 * 970) / 16 = 1,157.5. What remains is 2,812.5 up to
  // that, then 3,970 - v: (2,812.5 * 157.5 + (2,812.5^2 - 2,470^2) / 2) / 500.
  EXPECT_NEAR(tail_tokens(100, 4, {3970, 970, 970, 970, 970, 970, 970, 970}), 2695.19375, 1e-9);
}

TEST(AttentionTail, SequencesThatAreNotKeptFallEvenlyToTheirMean) {
  // The eight longest of 108 have 2,250 each, the other hundred 90,000 in all. 6.25 * 8 * 108 / 200
  // = 27 fill the memory: the first 19 of the hundred have 2,250 - (2,250 - 900) * 19 / 100 =
  // 1,993.5 on average, so that the 27 have (8 * 2,250 + 19 * 1,993.5) / 27 = 2,069.5.
  EXPECT_NEAR(tail_tokens(108, 6.25, {2250, 2250, 2250, 2250, 2250, 2250, 2250, 2250}), 180.5,
              1e-9);
}

}  // namespace
}  // namespace roofcast

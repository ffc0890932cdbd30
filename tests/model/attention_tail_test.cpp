#include "model/attention_tail.hpp"

#include <gtest/gtest.h>

namespace roofcast {
namespace {

// On 100 multiprocessors 200 blocks run at once; a sequence has 8, one for each KV head.
constexpr int kMultiprocessors = 100;
constexpr Seconds kToken{10e-9};

OperatorShape decode_shape() {
  return {.family = OperatorFamily::decode_attention,
          .query_heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .value_dim = 128};
}

/// In tokens, of sequences whose mean is 1,000. `filling` of them keep the memory busy: as long as
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
  // 25 * 8 blocks are one wave. The four longest have (5,000 + 2,000 + 1,000 + 1,000) / 4 = 2,250.
  EXPECT_NEAR(tail_tokens(25, 4, {5000, 2000, 1000, 1000, 1000}), 2750, 1e-9);
  // Of 2.5: (5,000 + 2,000 + 1,000 / 2) / 2.5 = 3,000.
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

TEST(AttentionTail, MoreWavesHideMoreOfIt) {
  // 50 * 8 blocks: two waves, by whose end it has read v = 1,000 to 2,000. The four longest have
  // 1,750: 2,250 up to v = 1,750, then 4,000 - v: (2,250 * 750 + (2,250^2 - 2,000^2) / 2) / 1,000.
  EXPECT_NEAR(tail_tokens(50, 4, {4000, 1000, 1000, 1000}), 2218.75, 1e-9);
  // Four waves, v = 1,000 to 4,000; the four longest have 1,500, and from v = 3,000 on nothing is
  // left: (1,500 * 500 + 1,500^2 / 2) / 3,000.
  EXPECT_NEAR(tail_tokens(100, 4, {3000, 1000, 1000, 1000}), 625, 1e-9);
}

}  // namespace
}  // namespace roofcast

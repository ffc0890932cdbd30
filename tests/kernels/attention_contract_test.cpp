#include <gtest/gtest.h>

#include <limits>

#include "kernels/attention.hpp"
#include "tests/kernels/refusal.hpp"

namespace roofcast::kernels {
namespace {

using test::expect_refused;

alignas(16) char memory[64];
alignas(16) const std::int32_t numbers[4] = {};

const PagedCache cache{.element = Element::bf16,
                       .page_size = 16,
                       .kv_heads = 2,
                       .head_dim = 8,
                       .keys = memory,
                       .values = memory,
                       .page_table = numbers,
                       .pages_per_sequence = 4};

const PrefillAttention prefill{.element = Element::bf16,
                               .sequences = 1,
                               .query_heads = 6,
                               .scale = 0.5F,
                               .query = memory,
                               .output = memory,
                               .first_query = numbers,
                               .length = numbers,
                               .cache = cache,
                               .tokens = 10,
                               .longest_query = 10,
                               .longest_length = 64};

const DecodeAttention decode{.element = Element::bf16,
                             .sequences = 1,
                             .query_heads = 6,
                             .scale = 0.5F,
                             .query = memory,
                             .output = memory,
                             .length = numbers,
                             .cache = cache,
                             .longest_length = 64,
                             .workspace = memory};

const LatentDecode latent{.element = Element::bf16,
                          .sequences = 1,
                          .query_heads = 16,
                          .page_size = 64,
                          .scale = 0.1F,
                          .query = memory,
                          .output = memory,
                          .cache = memory,
                          .page_table = numbers,
                          .pages_per_sequence = 1,
                          .length = numbers,
                          .longest_length = 64,
                          .workspace = memory};

TEST(PrefillAttention, CountsEachQueryAndTokenThatItSees) {
  PrefillAttention attention = prefill;
  attention.sequences = 2;
  const std::int32_t new_tokens[] = {3, 2};
  const std::int32_t length[] = {3, 10};
  // Pairs: 1 + 2 + 3, and 9 + 10: 25, each 4 * 6 heads * 8.
  // Bytes: 13 tokens with keys and values of 2 * 8 bf16; 5 rows of 6 * 8 bf16, in and out.
  const AttentionWork work = work_of(attention, new_tokens, length);
  EXPECT_EQ(work.flops, 25 * 4 * 6 * 8);
  EXPECT_EQ(work.bytes, 13 * 2 * 16 * 2 + 5 * 2 * 48 * 2);
}

TEST(PrefillAttention, CountsOnlyWhatTheWindowShows) {
  PrefillAttention attention = prefill;
  attention.window = 4;
  const auto work = [&](std::int32_t queries, std::int32_t length) {
    const AttentionWork w = work_of(attention, &queries, &length);
    return std::pair(w.flops / (4 * 6 * 8), (w.bytes - queries * 2 * 48 * 2) / 64);
  };
  // All six tokens new: 1 + 2 + 3 + 4 + 4 + 4 pairs, every token seen.
  EXPECT_EQ(work(6, 6), std::pair(18.0, 6.0));
  // The last two of ten, with four each: tokens 5 to 8 and 6 to 9, so five are read.
  EXPECT_EQ(work(2, 10), std::pair(8.0, 5.0));
  // Two behind two others: 3 + 4 pairs, four tokens.
  EXPECT_EQ(work(2, 4), std::pair(7.0, 4.0));
  // A window wider than the sequence hides nothing.
  attention.window = 100;
  EXPECT_EQ(work(6, 6), std::pair(21.0, 6.0));
  EXPECT_EQ(work(0, 6), std::pair(0.0, 0.0));
}

TEST(DecodeAttention, CountsOneQueryASequence) {
  DecodeAttention attention = decode;
  attention.sequences = 2;
  attention.cache.element = Element::fp8_e4m3;
  const std::int32_t length[] = {5, 7};
  // 12 pairs; 12 tokens with keys and values of 2 * 8 fp8; two rows of 48 bf16, in and out.
  const AttentionWork work = work_of(attention, length);
  EXPECT_EQ(work.flops, 12 * 4 * 48);
  EXPECT_EQ(work.bytes, 12 * 2 * 16 + 2 * 2 * 48 * 2);
  attention.window = 6;  // the second sequence sees 6 of its 7
  EXPECT_EQ(work_of(attention, length).flops, 11 * 4 * 48);
}

TEST(LatentDecode, ReadsEachCachedRowOnceForAllHeads) {
  const std::int32_t length[] = {10};
  // Scores over 576 elements, sums over 512, for 16 heads; one row of 576 bf16 a token.
  const AttentionWork work = work_of(latent, length);
  EXPECT_EQ(work.flops, 10 * 16 * 2 * (576 + 512));
  EXPECT_EQ(work.bytes, 2 * (10 * 576 + 16 * (576 + 512)));
}

TEST(DecodeAttention, HasRoomForTheSplitsThatCanBeUsed) {
  DecodeAttention attention = decode;
  attention.longest_length = 64;
  EXPECT_EQ(max_splits(attention), 2);  // each of 32 tokens
  // 6 heads, 2 parts, each 8 outputs, a maximum and a sum in fp32.
  EXPECT_EQ(workspace_bytes(attention), 6 * 2 * 10 * 4);
  attention.longest_length = 1 << 20;
  EXPECT_EQ(max_splits(attention), kMaxSplits);
  attention.window = 100;
  EXPECT_EQ(max_splits(attention), 4);  // 100 tokens in parts of 32
  attention.window = 0;
  attention.sequences = 128;  // 256 sequences and KV heads: 4096 / 256 each
  EXPECT_EQ(max_splits(attention), 16);
  attention.sequences = 100000;
  EXPECT_EQ(max_splits(attention), 8);
  attention.longest_length = 0;
  EXPECT_EQ(max_splits(attention), 1);
}

TEST(LatentDecode, HasRoomForTheSplitsThatCanBeUsed) {
  LatentDecode attention = latent;
  attention.longest_length = 65;
  EXPECT_EQ(max_splits(attention), 3);
  EXPECT_EQ(workspace_bytes(attention), 16 * 3 * 514 * 4);
  attention.longest_length = 1 << 20;
  attention.sequences = 32;
  attention.query_heads = 128;  // 8 tiles of 16 heads, 256 with the sequences
  EXPECT_EQ(max_splits(attention), 16);
}

TEST(PrefillAttention, RefusesWhatItsContractDoesNotCover) {
  using A = PrefillAttention;
  const A& good = prefill;
  expect_refused(
      good, [](A& a) { a.element = Element::int8; }, "prefill attention: the element");
  expect_refused(
      good, [](A& a) { a.sequences = -1; }, "sequences must not be negative");
  expect_refused(
      good, [](A& a) { a.query_heads = 3; }, "a multiple of kv_heads");
  expect_refused(
      good, [](A& a) { a.query_heads = 0; }, "a multiple of kv_heads");
  expect_refused(
      good, [](A& a) { a.query_stride = 40; }, "query_stride must be 0 or hold");
  expect_refused(
      good, [](A& a) { a.query_stride = 52; }, "a multiple of 16 bytes");
  expect_refused(
      good, [](A& a) { a.scale = 0; }, "the scale must be positive");
  expect_refused(
      good, [](A& a) { a.scale = std::numeric_limits<float>::infinity(); }, "the scale must be");
  expect_refused(
      good, [](A& a) { a.window = -1; }, "the window must not be negative");
  expect_refused(
      good, [](A& a) { a.longest_length = 65; }, "must fit the pages of a sequence");
  expect_refused(
      good, [](A& a) { a.tokens = -1; }, "tokens must be 0 to 2^31 - 1");
  expect_refused(
      good, [](A& a) { a.longest_query = 11; }, "longest_query must be 0 to tokens");
  expect_refused(
      good, [](A& a) { a.longest_length = 9; }, "at most longest_length");
  expect_refused(
      good, [](A& a) { a.first_query = nullptr; }, "first_query must be given");
  expect_refused(
      good, [](A& a) { a.length = nullptr; }, "must be given");
  expect_refused(
      good, [](A& a) { a.query = memory + 2; }, "aligned to 16 bytes");
}

TEST(DecodeAttention, RefusesACacheThatCannotHoldItsKeys) {
  using A = DecodeAttention;
  const A& good = decode;
  expect_refused(
      good, [](A& a) { a.cache.element = Element::fp16; }, "query's element or fp8");
  expect_refused(
      good, [](A& a) { a.cache.key_scale = 2; }, "only an fp8 cache is scaled");
  expect_refused(
      good, [](A& a) { a.cache.page_size = 24; }, "must be a power of two");
  expect_refused(
      good, [](A& a) { a.cache.page_size = 0; }, "must be a power of two");
  expect_refused(
      good, [](A& a) { a.cache.head_dim = 12; }, "a multiple of 16 bytes");
  expect_refused(
      good, [](A& a) { a.cache.kv_heads = 0; }, "must be positive");
  expect_refused(
      good, [](A& a) { a.cache.keys = nullptr; }, "keys and values must be given");
  expect_refused(
      good, [](A& a) { a.cache.page_table = nullptr; }, "page table must be given");
  expect_refused(
      good, [](A& a) { a.cache.values = memory + 8; }, "aligned to 16 bytes");
  expect_refused(
      good, [](A& a) { a.workspace = nullptr; }, "decode attention: the workspace");
  A eight = good;
  eight.cache.element = Element::fp8_e4m3;
  eight.cache.head_dim = 16;
  eight.cache.value_scale = 0.25F;
  expect_refused(
      eight, [](A& a) { a.cache.value_scale = 0; }, "must be positive");
}

TEST(LatentDecode, RefusesWhatItsContractDoesNotCover) {
  using A = LatentDecode;
  expect_refused(
      latent, [](A& a) { a.element = Element::fp8_e4m3; }, "latent decode: the element");
  expect_refused(
      latent, [](A& a) { a.query_heads = 0; }, "query_heads must be positive");
  expect_refused(
      latent, [](A& a) { a.latent = 0; }, "latent must be positive");
  expect_refused(
      latent, [](A& a) { a.rotary = 4; }, "multiples of 16 bytes");
  expect_refused(
      latent, [](A& a) { a.page_size = 3; }, "must be a power of two");
  expect_refused(
      latent, [](A& a) { a.scale = 0; }, "the scale must be positive");
  expect_refused(
      latent, [](A& a) { a.longest_length = 65; }, "must fit the pages");
  expect_refused(
      latent, [](A& a) { a.cache = nullptr; }, "must be given");
  expect_refused(
      latent, [](A& a) { a.output = memory + 2; }, "aligned to 16 bytes");
}

}  // namespace
}  // namespace roofcast::kernels

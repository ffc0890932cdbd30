#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/reference_attention.hpp"

namespace roofcast::kernels {
namespace {

const float ln3 = std::log(3.0F);

/// One sequence of five tokens in three pages of two, with heads of one element; the table's second
/// page comes first in memory. All keys are 0, so that all tokens weigh the same.
struct Tiny {
  std::vector<float> query{1, 1, 1, 1, 1};
  std::vector<float> keys{0, 0, 0, 0, 0, 0};
  std::vector<float> values{3, 4, 1, 2, 5, 1000};  // tokens 2, 3; 0, 1; 4 and a slot unused
  std::vector<std::int32_t> page_table{1, 0, 2};
  std::vector<std::int32_t> first_query{0, 2};
  std::vector<std::int32_t> length{5};

  PagedCache cache() {
    return {.element = Element::fp32,
            .page_size = 2,
            .kv_heads = 1,
            .head_dim = 1,
            .keys = keys.data(),
            .values = values.data(),
            .page_table = page_table.data(),
            .pages_per_sequence = 3};
  }
  PrefillAttention prefill() {
    return {.element = Element::fp32,
            .sequences = 1,
            .query_heads = 1,
            .scale = 1,
            .query = query.data(),
            .first_query = first_query.data(),
            .length = length.data(),
            .cache = cache(),
            .tokens = 2};
  }
  DecodeAttention decode() {
    return {.element = Element::fp32,
            .sequences = 1,
            .query_heads = 1,
            .scale = 1,
            .query = query.data(),
            .length = length.data(),
            .cache = cache()};
  }
};

void expect_values(const AttentionAnswer& answer, const std::vector<double>& expected) {
  ASSERT_EQ(answer.output.values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(answer.output.values[i], expected[i], 1e-6) << i;  // ln 3 is given in fp32
  }
}

TEST(AttentionReference, ShowsAQueryItsOwnTokenAndThoseBefore) {
  Tiny tiny;
  // The last two of five: means of 1 to 4 and of 1 to 5.
  expect_values(attention_reference(tiny.prefill()), {2.5, 3});
}

TEST(AttentionReference, ShowsAsManyTokensAsTheWindow) {
  Tiny tiny;
  PrefillAttention prefill = tiny.prefill();
  prefill.window = 2;
  expect_values(attention_reference(prefill), {3.5, 4.5});
  DecodeAttention decode = tiny.decode();
  decode.window = 3;
  expect_values(attention_reference(decode), {4});
}

TEST(AttentionReference, WeighsTokensByTheExponentialOfTheirScore) {
  Tiny tiny;
  tiny.length = {2};
  tiny.keys[3] = 2;  // token 1
  DecodeAttention decode = tiny.decode();
  decode.scale = ln3 / 2;
  // Weights 1 and 3 of 4; values 1 and 2.
  const AttentionAnswer answer = attention_reference(decode);
  expect_values(answer, {1.75});
  EXPECT_NEAR(answer.score_magnitude[0], std::log(3.0), 1e-6);
}

TEST(AttentionReference, SumsMagnitudesWithoutTheirSigns) {
  Tiny tiny;
  tiny.length = {2};
  tiny.values[2] = -1;
  const AttentionAnswer answer = attention_reference(tiny.decode());
  expect_values(answer, {0.5});
  EXPECT_NEAR(answer.output.magnitudes[0], 1.5, 1e-12);
}

TEST(AttentionReference, LetsQueryHeadsShareAKvHead) {
  // One token, two KV heads of two elements, four query heads: heads 0, 1 and heads 2, 3.
  const std::vector<float> query(8, 1);
  std::vector<float> keys(4, 0);
  std::vector<float> values{1, 2, 3, 4};
  const std::int32_t page = 0;
  const std::int32_t length = 1;
  const DecodeAttention decode{.element = Element::fp32,
                               .sequences = 1,
                               .query_heads = 4,
                               .scale = 1,
                               .query = query.data(),
                               .length = &length,
                               .cache = {.element = Element::fp32,
                                         .page_size = 1,
                                         .kv_heads = 2,
                                         .head_dim = 2,
                                         .keys = keys.data(),
                                         .values = values.data(),
                                         .page_table = &page,
                                         .pages_per_sequence = 1}};
  expect_values(attention_reference(decode), {1, 2, 1, 2, 3, 4, 3, 4});
}

TEST(AttentionReference, FindsQueriesWithinWiderRows) {
  Tiny tiny;
  tiny.length = {2};
  tiny.keys[3] = 2;  // token 1
  tiny.query = {1, 9, 9, 0, 9, 9};
  PrefillAttention prefill = tiny.prefill();
  prefill.scale = ln3 / 2;
  prefill.query_stride = 3;
  // The first query sees token 0 alone; the second is 0 and weighs values 1 and 2 alike.
  expect_values(attention_reference(prefill), {1, 1.5});
}

TEST(AttentionReference, KeepsSequencesApart) {
  Tiny tiny;
  tiny.page_table = {1, 0, 2, 2, 2, 2};
  tiny.length = {4, 1};
  tiny.first_query = {0, 0, 1};  // the first sequence has no new token
  PrefillAttention prefill = tiny.prefill();
  prefill.sequences = 2;
  expect_values(attention_reference(prefill), {5});
  DecodeAttention decode = tiny.decode();
  decode.sequences = 2;
  expect_values(attention_reference(decode), {2.5, 5});
}

TEST(AttentionReference, ScalesAnEightBitCache) {
  std::vector<Fp8E4M3> keys = {from_float<Fp8E4M3>(0), from_float<Fp8E4M3>(4)};
  std::vector<Fp8E4M3> values = {from_float<Fp8E4M3>(8), from_float<Fp8E4M3>(-8)};
  const std::vector<float> query = {1};
  const std::int32_t page = 0;
  const std::int32_t length = 2;
  const DecodeAttention decode{.element = Element::fp32,
                               .sequences = 1,
                               .query_heads = 1,
                               .scale = ln3,
                               .query = query.data(),
                               .length = &length,
                               .cache = {.element = Element::fp8_e4m3,
                                         .page_size = 2,
                                         .kv_heads = 1,
                                         .head_dim = 1,
                                         .keys = keys.data(),
                                         .values = values.data(),
                                         .page_table = &page,
                                         .pages_per_sequence = 1,
                                         .key_scale = 0.25F,
                                         .value_scale = 0.5F}};
  // Keys 0 and 1: weights 1/4 and 3/4 of 4 and -4.
  expect_values(attention_reference(decode), {-2});
}

TEST(AttentionReference, TakesTheLatentPartOfARowAsItsValue) {
  // Rows of two latent and one rotary element; the rotary part alone makes the scores.
  std::vector<float> cache = {1, 2, 0, 5, 6, 1};
  const std::vector<float> query = {0, 0, 1, 1, 0, 0};  // two heads
  const std::int32_t page = 0;
  const std::int32_t length = 2;
  const AttentionAnswer answer = attention_reference(LatentDecode{.element = Element::fp32,
                                                                  .sequences = 1,
                                                                  .query_heads = 2,
                                                                  .latent = 2,
                                                                  .rotary = 1,
                                                                  .page_size = 2,
                                                                  .scale = ln3,
                                                                  .query = query.data(),
                                                                  .cache = cache.data(),
                                                                  .page_table = &page,
                                                                  .pages_per_sequence = 1,
                                                                  .length = &length});
  // Head 0: scores 0 and ln 3. Head 1: scores ln 3 and 5 ln 3, weights 1 and 81 of 82.
  expect_values(answer, {4, 5, (1 + 5 * 81) / 82.0, (2 + 6 * 81) / 82.0});
}

}  // namespace
}  // namespace roofcast::kernels

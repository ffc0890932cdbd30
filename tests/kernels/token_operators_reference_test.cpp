#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/reference_tokens.hpp"

namespace roofcast::kernels {
namespace {

TEST(EmbeddingReference, LooksUpRows) {
  const std::vector<float> table = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> token = {2, 0};
  const std::vector<double> output = embedding_reference({.element = Element::fp32,
                                                          .tokens = 2,
                                                          .hidden = 2,
                                                          .vocabulary = 3,
                                                          .token = token.data(),
                                                          .table = table.data()});
  EXPECT_EQ(output, (std::vector<double>{5, 6, 1, 2}));
}

TEST(RopeReference, TurnsTheHalvesOfAHead) {
  // Rows of 8: two query heads of 2 and one key head of 2, two elements unused. Position 1 of the
  // table turns by a quarter, position 0 not at all.
  std::vector<float> rows = {1, 2, 3, 4, 5, 6, 0, 0,   //
                             1, 2, 3, 4, 5, 6, 0, 0};  //
  const std::vector<std::int32_t> position = {1, 0};
  const std::vector<float> cosine = {1, 0};
  const std::vector<float> sine = {0, 1};
  const RopeAnswer answer = rope_reference({.element = Element::fp32,
                                            .tokens = 2,
                                            .query_heads = 2,
                                            .kv_heads = 1,
                                            .head_dim = 2,
                                            .stride = 8,
                                            .query = rows.data(),
                                            .key = rows.data() + 4,
                                            .position = position.data(),
                                            .cosine = cosine.data(),
                                            .sine = sine.data()});
  EXPECT_EQ(answer.query.values, (std::vector<double>{-2, 1, -4, 3, 1, 2, 3, 4}));
  EXPECT_EQ(answer.key.values, (std::vector<double>{-6, 5, 5, 6}));
}

TEST(RopeReference, PairsElementsHalfAHeadApart) {
  // Head of 4: element 0 with 2 by the first angle, 1 with 3 by the second.
  std::vector<float> row = {1, 2, 3, 4};
  const std::int32_t position = 0;
  const std::vector<float> cosine = {0.6F, 1};
  const std::vector<float> sine = {0.8F, 0};
  const RopeAnswer answer = rope_reference({.element = Element::fp32,
                                            .tokens = 1,
                                            .query_heads = 1,
                                            .kv_heads = 1,
                                            .head_dim = 4,
                                            .stride = 4,
                                            .query = row.data(),
                                            .key = row.data(),
                                            .position = &position,
                                            .cosine = cosine.data(),
                                            .sine = sine.data()});
  const std::vector<double> expected = {0.6 - 3 * 0.8, 2, 0.8 + 3 * 0.6, 4};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(answer.query.values[i], expected[i], 1e-6);
  EXPECT_NEAR(answer.query.magnitudes[0], 0.6 + 3 * 0.8, 1e-6);
}

TEST(KvWriteReference, StoresWhatTheCacheCanHold) {
  // Rows of 4, of which one head of 2. Divided by 2: 0.5 is held, 1000 saturates at 448.
  const std::vector<float> key = {1, 2000, 9, 9, 3, 4, 9, 9};
  const std::vector<float> value = {1, 2, 9, 9, 17, 4, 9, 9};
  const KvWriteAnswer answer = kv_write_reference({.element = Element::fp32,
                                                   .tokens = 2,
                                                   .stride = 4,
                                                   .key = key.data(),
                                                   .value = value.data(),
                                                   .cache = {.element = Element::fp8_e4m3,
                                                             .kv_heads = 1,
                                                             .head_dim = 2,
                                                             .key_scale = 2,
                                                             .value_scale = 1}});
  EXPECT_EQ(answer.keys, (std::vector<double>{0.5, 448, 1.5, 2}));
  // fp8 above 16 steps by 2: 17 is a tie, and 16 is even.
  EXPECT_EQ(answer.values, (std::vector<double>{1, 2, 16, 4}));
}

TEST(ActivationReference, CurvesOneHalfAndMultipliesByTheOther) {
  const std::vector<float> input = {0, 1, 10, 20};  // [1, 2 * 2]
  Activation activation{.kind = ActivationKind::silu_mul,
                        .element = Element::fp32,
                        .rows = 1,
                        .width = 2,
                        .input = input.data()};
  std::vector<double> output = activation_reference(activation);
  EXPECT_EQ(output[0], 0);
  EXPECT_NEAR(output[1], 20 / (1 + std::exp(-1.0)), 1e-12);
  activation.kind = ActivationKind::gelu_mul;
  output = activation_reference(activation);
  EXPECT_EQ(output[0], 0);
  // gelu(1) is 0.8412 in its tanh form: sqrt(2 / pi) * 1.044715 = 0.83356, its tanh 0.68238.
  EXPECT_NEAR(output[1], 20 * 0.84119, 1e-3);
}

TEST(ActivationReference, CurvesWholeRowsWithGelu) {
  const std::vector<float> input = {-10, 0, 1, 10};  // [2, 2]
  const std::vector<double> output = activation_reference({.kind = ActivationKind::gelu,
                                                           .element = Element::fp32,
                                                           .rows = 2,
                                                           .width = 2,
                                                           .input = input.data()});
  ASSERT_EQ(output.size(), 4U);
  EXPECT_NEAR(output[0], 0, 1e-12);  // far below, nothing passes
  EXPECT_EQ(output[1], 0);
  EXPECT_NEAR(output[2], 0.84119, 1e-4);
  EXPECT_NEAR(output[3], 10, 1e-12);  // far above, everything
}

/// Logits whose probabilities are 0.2, 0.5, 0.1, 0.2.
const std::vector<float> logits = {std::log(2.0F), std::log(5.0F), 0, std::log(2.0F)};

const Sampling one_row{
    .rows = 1, .vocabulary = 4, .element = Element::fp32, .logits = logits.data(), .top_k = 0};

std::int32_t drawn(Sampling sampling, float uniform) {
  sampling.uniform = &uniform;
  return sampling_reference(sampling).front();
}

TEST(SamplingReference, TakesTheLargestWhenGreedy) {
  const std::vector<float> rows = {1, 3, 3, 2, -1, -2, -3, -4};
  const std::vector<std::int32_t> tokens = sampling_reference(
      {.rows = 2, .vocabulary = 4, .element = Element::fp32, .logits = rows.data(), .top_k = 1});
  EXPECT_EQ(tokens, (std::vector<std::int32_t>{1, 0}));
}

TEST(SamplingReference, DrawsInTheOrderOfFallingProbability) {
  // Sums: token 1 to 0.5, token 0 to 0.7, token 3 to 0.9, token 2 to 1.
  EXPECT_EQ(drawn(one_row, 0), 1);
  EXPECT_EQ(drawn(one_row, 0.49F), 1);
  EXPECT_EQ(drawn(one_row, 0.51F), 0);
  EXPECT_EQ(drawn(one_row, 0.71F), 3);
  EXPECT_EQ(drawn(one_row, 0.91F), 2);
  EXPECT_EQ(drawn(one_row, 0.99999F), 2);
}

TEST(SamplingReference, KeepsTheFirstTopK) {
  Sampling sampling = one_row;
  sampling.top_k = 2;  // 0.5 and 0.2 of 0.7; of the equal tokens 0 and 3 the lower one
  EXPECT_EQ(drawn(sampling, 0.71F), 1);
  EXPECT_EQ(drawn(sampling, 0.72F), 0);
  EXPECT_EQ(drawn(sampling, 0.99F), 0);
  sampling.top_k = 100;  // more than there are
  EXPECT_EQ(drawn(sampling, 0.91F), 2);
}

TEST(SamplingReference, KeepsTheFewestThatReachTopP) {
  Sampling sampling = one_row;
  sampling.top_p = 0.4F;
  EXPECT_EQ(drawn(sampling, 0.99F), 1);
  sampling.top_p = 0.6F;  // two tokens: 0.5 and 0.2
  EXPECT_EQ(drawn(sampling, 0.71F), 1);
  EXPECT_EQ(drawn(sampling, 0.72F), 0);
  // Top-p 0.75 takes two of the first three (0.5, 0.2, 0.2 of 0.9): 0.5 / 0.9 = 0.56, then 0.78.
  sampling.top_k = 3;
  sampling.top_p = 0.75F;
  EXPECT_EQ(drawn(sampling, 0.99F), 0);
}

TEST(SamplingReference, FlattensWithTheTemperature) {
  Sampling sampling = one_row;
  sampling.temperature = 0.5F;  // squares: 4, 25, 1, 4 of 34; the first to 25 / 34 = 0.735
  EXPECT_EQ(drawn(sampling, 0.73F), 1);
  EXPECT_EQ(drawn(sampling, 0.74F), 0);
}

TEST(GatherReference, PicksRows) {
  const std::vector<float> input = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> row = {2, 2, 1};
  const std::vector<double> output = gather_reference(
      {.element = Element::fp32, .rows = 3, .hidden = 2, .row = row.data(), .input = input.data()});
  EXPECT_EQ(output, (std::vector<double>{5, 6, 5, 6, 3, 4}));
}

TEST(RoutingReference, ChoosesExpertsAndSortsTheirPairs) {
  // Three tokens, three experts, two choices. Token 0: experts 2 and 0, weights 3 and 1 of 4.
  // Token 1: all equal, so 0 and 1. Token 2: experts 1 and 2, the same weights as token 0.
  const float ln3 = std::log(3.0F);
  const std::vector<float> logits_of_tokens = {0, -9, ln3, 5, 5, 5, -9, ln3, 0};
  const RoutingAnswer answer = routing_reference({.tokens = 3,
                                                  .experts = 3,
                                                  .top_k = 2,
                                                  .element = Element::fp32,
                                                  .logits = logits_of_tokens.data()});
  // Expert 0 has tokens 0 and 1, expert 1 tokens 1 and 2, expert 2 tokens 0 and 2.
  EXPECT_EQ(answer.first_row, (std::vector<std::int32_t>{0, 2, 4, 6}));
  EXPECT_EQ(answer.source, (std::vector<std::int32_t>{0, 1, 1, 2, 0, 2}));
  // Token 0's first choice is expert 2's first pair, its second expert 0's first; and so on.
  EXPECT_EQ(answer.place, (std::vector<std::int32_t>{4, 0, 1, 2, 3, 5}));
  const std::vector<double> expected = {0.75, 0.25, 0.5, 0.5, 0.75, 0.25};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(answer.weight[i], expected[i], 1e-6);
}

TEST(CombineReference, AddsAnExpertsRowsAtTheirTokens) {
  const std::vector<float> input = {1, 2, 10, 20, 100, 200, -1000, 2000};  // [4, 2]
  const std::vector<std::int32_t> place = {2, 0, 1, 3};
  const std::vector<float> weight = {0.5F, 2, 1, 1};
  const Sums sums = combine_reference({.element = Element::fp32,
                                       .tokens = 2,
                                       .top_k = 2,
                                       .hidden = 2,
                                       .input = input.data(),
                                       .place = place.data(),
                                       .weight = weight.data()});
  EXPECT_EQ(sums.values, (std::vector<double>{50 + 2, 100 + 4, 10 - 1000, 20 + 2000}));
  EXPECT_EQ(sums.magnitudes[2], 1010);
}

}  // namespace
}  // namespace roofcast::kernels

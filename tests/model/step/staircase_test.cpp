#include "model/step/staircase.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

struct KnownAnswer {
  std::int64_t prompt;
  std::int64_t generate;
  std::int64_t naive;   // G * P + G * (G - 1) / 2
  std::int64_t cached;  // P + G
  double waste;         // to three digits
};

TEST(Staircase, KnownAnswers) {
  for (const KnownAnswer& known :
       {KnownAnswer{100, 50, 6225, 150, 41.5}, KnownAnswer{500, 200, 119900, 700, 171},
        KnownAnswer{1000, 500, 624750, 1500, 416}, KnownAnswer{2000, 1000, 2499500, 3000, 833}}) {
    const Staircase count = count_staircase(known.prompt, known.generate);
    EXPECT_EQ(count.naive_kv_computations, known.naive);
    EXPECT_EQ(count.cached_kv_computations, known.cached);
    EXPECT_NEAR(count.waste_factor, known.waste, 0.5);
  }
  EXPECT_DOUBLE_EQ(count_staircase(100, 50).waste_factor, 41.5);  // 6225 / 150
}

TEST(Staircase, EightTokensVisit36PositionsAnd16Visit136) {
  for (const std::int64_t prompt : {0, 1}) {  // 1 + 2 + ... + G
    EXPECT_EQ(count_staircase(prompt, 8).attention_positions, 36);
    EXPECT_EQ(count_staircase(prompt, 16).attention_positions, 136);
  }
}

TEST(Staircase, TwoHundredTokensAfterTwoThousandVisit419900Positions) {
  const Staircase count = count_staircase(2000, 200);
  EXPECT_EQ(count.attention_positions, 419900);
  EXPECT_DOUBLE_EQ(count.mean_attention_positions, 2099.5);
}

TEST(Staircase, NothingGeneratedCostsNothing) {
  const Staircase count = count_staircase(100, 0);
  EXPECT_EQ(count.naive_kv_computations, 0);
  EXPECT_DOUBLE_EQ(count.waste_factor, 0.0);
}

TEST(Staircase, PrefillVisitsHalfTheSquare) {
  EXPECT_EQ(prefill_attention_positions(4), 1 + 2 + 3 + 4);
  EXPECT_EQ(prefill_attention_positions(2000), 2001000);
}

TEST(Staircase, SpeculationEmitsTheGeometricSum) {
  // (1 - 0.8^4) / (1 - 0.8) = 2.952
  EXPECT_NEAR(tokens_per_speculative_step(0.8, 3), 2.952, 1e-12);
  EXPECT_DOUBLE_EQ(tokens_per_speculative_step(1.0, 4), 5.0);
  EXPECT_DOUBLE_EQ(tokens_per_speculative_step(0.0, 4), 1.0);
  EXPECT_DOUBLE_EQ(tokens_per_speculative_step(0.8, 0), 1.0);
}

TEST(Staircase, TheNaiveLoopClimbsAndTheCachedOneStaysFlat) {
  Gpu gpu = test::round_gpu();
  const Deployment d = test::deployment_of(test::llama_3_1_8b(), gpu);
  const StaircaseTimes times = time_staircase(d, 400, 300);
  ASSERT_EQ(times.naive.size(), 300u);
  ASSERT_EQ(times.cached.size(), 300u);
  EXPECT_EQ(times.naive.front(), times.cached.front());  // both compute the prompt
  // 400 to 699 tokens at a ridge of 100: compute-bound, so time grows about as the tokens do.
  EXPECT_NEAR(times.naive.back() / times.naive.front(), 699.0 / 400.0, 0.2);
  // 300 more cached tokens are 39 MB compared with 15 GB of weights: 0.3 %.
  EXPECT_NEAR(times.cached.back() / times.cached[1], 1.0, 0.005);
  const Seconds sum = std::accumulate(times.cached.begin(), times.cached.end(), Seconds{});
  EXPECT_DOUBLE_EQ(times.cached_total.value, sum.value);
  EXPECT_GT(times.naive_total, times.cached_total);
}

TEST(Staircase, BatchingAndSpeculationFlattenIt) {
  const Deployment d = test::deployment_of(test::llama_3_1_8b(), test::round_gpu());
  const std::vector<FlattenedToken> rows = flatten_staircase(d, 500, 100, 0.7, 4);
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[2].batch, 64);
  // Weights are read once for the whole batch: eight sequences cost little more than one.
  EXPECT_LT(rows[1].step.value, 1.2 * rows[0].step.value);
  EXPECT_LT(rows[1].per_token.value, rows[0].per_token.value / 6);
  EXPECT_LT(rows[2].per_token, rows[1].per_token);
  // One sequence: five tokens verified at about the price of one, 2.77 kept.
  EXPECT_NEAR(rows[3].tokens_per_step, 2.7731, 1e-4);
  EXPECT_LT(rows[3].per_token, rows[0].per_token);
  EXPECT_EQ(flatten_staircase(d, 500, 100, 0.7, 0).size(), 3u);
}

}  // namespace
}  // namespace roofcast

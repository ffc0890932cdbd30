#include "model/step/staircase.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

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

TEST(Staircase, ThreeTokensAndFourMoreNeedSixOfEighteen) {
  // The naive loop computes 3, 4, 5 and 6 positions: 3 * 4 + 4 * 3 / 2 = 18. Positions 0 to 5 are
  // needed, one less than 3 + 4, since no token follows the last. 12 are redundant.
  const Staircase count = count_staircase(3, 4);
  EXPECT_EQ(count.naive_kv_computations, 18);
  EXPECT_EQ(count.needed_kv_computations, 6);
  EXPECT_EQ(count.redundant_kv_computations, 12);
  EXPECT_EQ(count.cached_kv_computations, 7);
  const StaircaseGrid grid = staircase_grid(3, 4);
  ASSERT_EQ(grid.steps.size(), 4U);
  EXPECT_EQ(grid.steps[0].computed, 3);
  EXPECT_EQ(grid.steps[0].redundant, 0);
  EXPECT_EQ(grid.steps[3].computed, 6);
  EXPECT_EQ(grid.steps[3].redundant, 5);
  // The prompt's positions once a generated token, then one step less each.
  EXPECT_EQ(grid.times_computed, (std::vector<std::int64_t>{4, 4, 4, 3, 2, 1}));
}

TEST(Staircase, TheGridSumsToTheCounts) {
  for (const auto& [prompt, generate] : {std::pair{0, 5}, {1, 1}, {7, 3}, {2, 9}}) {
    const Staircase count = count_staircase(prompt, generate);
    const StaircaseGrid grid = staircase_grid(prompt, generate);
    std::int64_t computed = 0, redundant = 0;
    for (const StaircaseStep& step : grid.steps) {
      computed += step.computed;
      redundant += step.redundant;
    }
    EXPECT_EQ(computed, count.naive_kv_computations);
    EXPECT_EQ(redundant, count.redundant_kv_computations);
    EXPECT_EQ(std::accumulate(grid.times_computed.begin(), grid.times_computed.end(), 0), computed);
    EXPECT_EQ(std::ssize(grid.times_computed), count.needed_kv_computations);
  }
}

TEST(Staircase, WithoutACacheAttentionVisitsEveryPositionsPastAgainInEveryStep) {
  // 3, 4, 5 and 6 positions: 3 * 4 / 2 + 4 * 5 / 2 + 5 * 6 / 2 + 6 * 7 / 2 = 6 + 10 + 15 + 21.
  EXPECT_EQ(count_staircase(3, 4).naive_attention_positions, 52);
  // The sum of n (n + 1) / 2 for n from 2,000 to 2,199: C(2201, 3) - C(2001, 3) =
  // 2201 * 2200 * 2199 / 6 - 2001 * 2000 * 1999 / 6 = 1,774,666,300 - 1,333,333,000.
  EXPECT_EQ(count_staircase(2000, 200).naive_attention_positions, 441'333'300);
  EXPECT_EQ(count_staircase(5, 0).naive_attention_positions, 0);
  // About 10^27 / 6 does not fit 64 bits.
  EXPECT_EQ(count_staircase(1, 1'000'000'000).naive_attention_positions, std::nullopt);
}

TEST(Staircase, TwiceTheTokensAreFourTimesTheWorkOnlyBesideAShortPrompt) {
  // (2 g p + 2 g (2 g - 1) / 2) / (g p + g (g - 1) / 2): with p = 100 and g = 50
  // (10,000 + 4,950) / 6,225 = 2.40; with p = 1 and g = 1,000 (2,000 + 1,999,000) / 500,500 = 4.00.
  EXPECT_NEAR(count_staircase(100, 50).growth_if_doubled, 14'950.0 / 6'225, 1e-12);
  EXPECT_NEAR(count_staircase(1, 1000).growth_if_doubled, 2'001'000.0 / 500'500, 1e-12);
  // Half the tokens of a long prompt: hardly more than twice.
  EXPECT_NEAR(count_staircase(100'000, 10).growth_if_doubled, 2.0, 1e-3);
}

TEST(Staircase, NothingGeneratedCostsNothing) {
  const Staircase count = count_staircase(100, 0);
  EXPECT_EQ(count.naive_kv_computations, 0);
  EXPECT_EQ(count.needed_kv_computations, 0);
  EXPECT_EQ(count.redundant_kv_computations, 0);
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
  const std::vector<FlattenedToken> rows =
      flatten_staircase(d, 500, 100, {.acceptance = 0.7, .drafts = 4});
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[2].batch, 64);
  // Weights are read once for the whole batch: eight sequences cost little more than one.
  EXPECT_LT(rows[1].step.value, 1.2 * rows[0].step.value);
  EXPECT_LT(rows[1].per_token.value, rows[0].per_token.value / 6);
  EXPECT_LT(rows[2].per_token, rows[1].per_token);
  // One sequence: five tokens verified at about the price of one, 2.77 kept.
  EXPECT_NEAR(rows[3].tokens_per_step, 2.7731, 1e-4);
  EXPECT_LT(rows[3].per_token, rows[0].per_token);
  EXPECT_EQ(flatten_staircase(d, 500, 100).size(), 3u);
}

TEST(Staircase, ADraftPaysUntilItTakesWhatItSaves) {
  const Deployment d = test::deployment_of(test::llama_3_1_8b(), test::round_gpu());
  const Drafting free{.acceptance = 0.7, .drafts = 4};
  const FlattenedToken row = flatten_staircase(d, 500, 100, free)[3];
  ASSERT_TRUE(row.break_even_pass);
  Drafting costly = free;
  costly.pass = *row.break_even_pass;
  const std::vector<FlattenedToken> rows = flatten_staircase(d, 500, 100, costly);
  // Four passes more in the step, and a token takes as long as without drafts.
  EXPECT_NEAR(rows[3].step.value, row.step.value + 4 * costly.pass.value, 1e-12);
  EXPECT_NEAR(rows[3].per_token.value, rows[0].per_token.value, 1e-12);
  EXPECT_NEAR(rows[3].break_even_pass->value, costly.pass.value, 1e-12);
  EXPECT_FALSE(rows[0].break_even_pass);
}

}  // namespace
}  // namespace roofcast

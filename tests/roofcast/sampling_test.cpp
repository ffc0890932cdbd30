#include "roofcast/sampling.hpp"

#include <cmath>

#include "tests/roofcast/read_back.hpp"

namespace roofcast {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr double kClose = 1e-12;

/// Scores ln 8, ln 4, ln 2, ln 1, ln 1: probabilities 8, 4, 2, 1 and 1 of 16.
const std::vector<ScoredWord>& words() {
  static const std::vector<ScoredWord> all = {
      {"c", std::log(2.0)}, {"a", std::log(8.0)}, {"b", std::log(4.0)}, {"d", 0.0}, {"e", 0.0}};
  return all;
}

std::vector<double> chances(const SamplingQuestion& question) {
  std::vector<double> list;
  for (const SampledWord& word : sampled(words(), question)) list.push_back(word.chance);
  return list;
}

auto AreNear(const std::vector<double>& expected) {
  return Pointwise(DoubleNear(kClose), expected);
}

std::vector<double> shares(std::vector<double> parts, double of) {
  for (double& part : parts) part /= of;
  return parts;
}

TEST(Sampling, LikeliestFirstAndTiesInTheirOrder) {
  std::vector<std::string> order;
  for (const SampledWord& word : sampled(words(), {})) order.push_back(word.word);
  EXPECT_THAT(order, ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(chances({}), AreNear(shares({8, 4, 2, 1, 1}, 16)));
}

// Scores over 0.5 are doubled, so 8, 4, 2, 1, 1 become their squares, whose sum is 86. Over 2 they
// become square roots.
TEST(Sampling, TemperatureWidensOrNarrowsTheGaps) {
  EXPECT_THAT(chances({.temperature = 0.5}), AreNear(shares({64, 16, 4, 1, 1}, 86)));
  const double root = std::sqrt(2.0);
  const double sum = 2 * root + 2 + root + 2;
  EXPECT_THAT(chances({.temperature = 2}), AreNear(shares({2 * root, 2, root, 1, 1}, sum)));
}

TEST(Sampling, AtTemperatureZeroTheLikeliestIsTaken) {
  EXPECT_THAT(chances({.temperature = 0}), AreNear(std::vector<double>{1, 0, 0, 0, 0}));
  // So small that exp(ln 4 - ln 8 over it) is below every double.
  EXPECT_THAT(chances({.temperature = 1e-300}), AreNear(std::vector<double>{1, 0, 0, 0, 0}));
}

TEST(Sampling, TopKKeepsSoMany) {
  EXPECT_THAT(chances({.top_k = 3}), AreNear(shares({8, 4, 2, 0, 0}, 14)));
  EXPECT_THAT(chances({.top_k = 1}), AreNear(std::vector<double>{1, 0, 0, 0, 0}));
  EXPECT_THAT(chances({.top_k = 100}), AreNear(shares({8, 4, 2, 1, 1}, 16)));
}

// 8/16 = 0.5 is below 0.7, 12/16 = 0.75 is not: two stay. 0.8 takes the third: 14/16 = 0.875.
TEST(Sampling, TopPKeepsTheSmallestSetThatReachesP) {
  EXPECT_THAT(chances({.top_p = 0.7}), AreNear(shares({8, 4, 0, 0, 0}, 12)));
  EXPECT_THAT(chances({.top_p = 0.8}), AreNear(shares({8, 4, 2, 0, 0}, 14)));
  EXPECT_THAT(chances({.top_p = 1e-9}), AreNear(std::vector<double>{1, 0, 0, 0, 0}));
}

// After top-k of 3 the shares are 8, 4 and 2 of 14. 12/14 = 0.857 reaches 0.8, so the third goes,
// which top-p alone would keep.
TEST(Sampling, TopPCountsWhatTopKLeft) {
  const auto found = sampled(words(), {.top_k = 3, .top_p = 0.8});
  EXPECT_EQ(found.at(1).out, SampledOut::kept);
  EXPECT_EQ(found.at(2).out, SampledOut::top_p);
  EXPECT_EQ(found.at(3).out, SampledOut::top_k);
  EXPECT_NEAR(found.at(0).chance, 8.0 / 12, kClose);
  EXPECT_NEAR(found.at(2).probability, 2.0 / 16, kClose);
}

TEST(Sampling, NoWordsGiveNone) { EXPECT_TRUE(sampled({}, {}).empty()); }

TEST(Sampling, NamesTheKnobThatIsOutOfRange) {
  EXPECT_EQ(test::complaint([] { sampling({.temperature = -1}); }),
            "temperature: expected 0 to 100");
  EXPECT_EQ(test::complaint([] { sampling({.temperature = std::nan("")}); }),
            "temperature: expected 0 to 100");
  EXPECT_EQ(test::complaint([] { sampling({.top_k = 0}); }), "`top_k`: expected 1 word or more");
  EXPECT_EQ(test::complaint([] { sampling({.top_p = 0}); }),
            "`top_p`: expected a share above 0, up to 1");
  EXPECT_EQ(test::complaint([] { sampling({.top_p = 1.5}); }),
            "`top_p`: expected a share above 0, up to 1");
}

TEST(Sampling, TheLessonsWordsSumToOneAndReadBack) {
  const SamplingAnswer answer = sampling({.temperature = 0.7, .top_p = 0.9});
  double sum = 0;
  for (const SampledWord& word : answer.words) sum += word.chance;
  EXPECT_NEAR(sum, 1, kClose);
  EXPECT_LT(answer.kept, static_cast<std::int64_t>(answer.words.size()));
  test::read_back(answer, sampling_answer_from_json, sampling_answer_schema());
}

}  // namespace
}  // namespace roofcast

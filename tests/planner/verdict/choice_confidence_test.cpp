// How sure a choice is, against probabilities worked out by hand.
#include "planner/verdict/choice_confidence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/step/version_terms.hpp"

namespace roofcast {
namespace {

/// Worth `rate` as predicted, and less as steps take longer; 0 beyond `room`, a log of time.
ChoiceOption option(double rate, double deviation, const std::string& kernels, double room = 10) {
  return {.kernels = kernels, .causes = {{"kernel tables", deviation}}, .worth = [=](double error) {
            return error <= room ? rate * std::exp(-error) : 0.0;
          }};
}

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

constexpr double kNear = 0.02;  // of 4,000 draws, two and a half standard deviations

TEST(ChoiceConfidence, OfOneOptionIsThatItMeetsItsLimit) {
  // Steps may take exp(0.1) times as long, which is one standard deviation: Phi(1) = 0.841.
  const std::vector<ChoiceOption> one = {option(1, 0.1, "a", 0.1)};
  EXPECT_NEAR(probability_of_choice(one, 0), normal_cdf(1), kNear);
}

TEST(ChoiceConfidence, OfStrangersFollowsFromTheDifferenceOfTheirErrors) {
  // 10 % ahead and good down to 5 % behind: the second wins if the errors differ by more than
  // log(1.1 / 0.95), of which the standard deviation is sqrt(2) 0.1.
  const std::vector<ChoiceOption> two = {option(1.1, 0.1, "a"), option(1, 0.1, "b")};
  const double good = normal_cdf(std::log(1.1 / 0.95) / (std::sqrt(2) * 0.1));
  EXPECT_NEAR(probability_of_choice(two, 0), good, kNear);
}

TEST(ChoiceConfidence, IsGreaterAmongOptionsThatErrTogether) {
  // Half of each variance is common: the difference's deviation is 0.1 instead of 0.141.
  const std::vector<ChoiceOption> two = {option(1.1, 0.1, "a"), option(1, 0.1, "a")};
  EXPECT_NEAR(probability_of_choice(two, 0), normal_cdf(std::log(1.1 / 0.95) / 0.1), kNear);
}

// The engine's version is common to all of one engine on one vendor's GPUs, so between two such
// options it changes nothing, however large; between others its whole variance counts.
TEST(ChoiceConfidence, TheVersionOfOneEngineMovesAllItsOptions) {
  const auto versioned = [](double rate, const std::string& kernels, const std::string& versions) {
    ChoiceOption one = option(rate, 0.1, kernels);
    one.causes.push_back({kVersionCause, 0.44, versions});
    return one;
  };
  const std::vector<ChoiceOption> same = {versioned(1.1, "mi300x sglang", "amd sglang"),
                                          versioned(1, "mi355x sglang", "amd sglang")};
  const double lead = std::log(1.1 / 0.95);
  EXPECT_NEAR(probability_of_choice(same, 0), normal_cdf(lead / (std::sqrt(2) * 0.1)), kNear);
  const std::vector<ChoiceOption> two = {versioned(1.1, "mi300x sglang", "amd sglang"),
                                         versioned(1, "mi300x vllm", "amd vllm")};
  EXPECT_NEAR(probability_of_choice(two, 0),
              normal_cdf(lead / (std::sqrt(2) * std::hypot(0.1, 0.44))), kNear);
}

TEST(ChoiceConfidence, IsZeroOfWhatNeverMeetsItsLimit) {
  const std::vector<ChoiceOption> two = {option(2, 0.1, "a", -10), option(1, 0.1, "b")};
  EXPECT_EQ(probability_of_choice(two, 0), 0);
  EXPECT_EQ(probability_of_choice(two, 1), 1);
}

TEST(ChoiceConfidence, IsCertainWithoutErrors) {
  const std::vector<ChoiceOption> two = {option(1, 0, "a"), option(1.04, 0, "a")};
  EXPECT_EQ(probability_of_choice(two, 0), 1);  // within 5 % of the best
  EXPECT_EQ(probability_of_choice(two, 1), 1);
}

}  // namespace
}  // namespace roofcast

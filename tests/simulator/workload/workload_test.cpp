#include "simulator/workload/workload.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "simulator/random.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Kind = LengthDistribution::Kind;

struct Moments {
  double mean = 0;
  double deviation = 0;
};

template <class Values>
Moments moments_of(const Values& values) {
  double sum = 0, squares = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(values.size());
  return {sum / n, std::sqrt(squares / n - sum / n * (sum / n))};
}

std::vector<double> gaps_s(const Workload& workload) {
  std::vector<double> gaps;
  Nanoseconds before = 0;
  for (const Request& request : workload.requests) {
    gaps.push_back(to_seconds(request.arrival - before).value);
    before = request.arrival;
  }
  return gaps;
}

TEST(Time, RoundsToTheNearestNanosecond) {
  EXPECT_EQ(to_nanoseconds(Seconds{1.5}), 1'500'000'000);
  EXPECT_EQ(to_nanoseconds(Seconds{1.4e-9}), 1);
  EXPECT_EQ(to_nanoseconds(Seconds{1.6e-9}), 2);
  EXPECT_EQ(to_nanoseconds(Seconds{-2.6e-9}), -3);
  EXPECT_DOUBLE_EQ(to_seconds(2'500'000'000).value, 2.5);
}

TEST(RandomStreams, DifferByNameAndBySeed) {
  EXPECT_EQ(random_stream(1, "arrivals")(), random_stream(1, "arrivals")());
  EXPECT_NE(random_stream(1, "arrivals")(), random_stream(1, "input_lengths")());
  EXPECT_NE(random_stream(1, "arrivals")(), random_stream(2, "arrivals")());
}

TEST(RandomStreams, AreThePublishedGenerators) {
  // The standard fixes the 10000th number of mt19937_64 seeded with 5489 (ISO C++ [rand.predef]).
  RandomStream generator;
  generator.discard(9999);
  EXPECT_EQ(generator(), 9981545732273789042u);
}

TEST(Generate, TheLastArrivalIsRequestsOverRate) {
  const auto workload = generate({.num_prompts = 300, .request_rate = 10}, 0);
  ASSERT_EQ(workload.requests.size(), 300u);
  EXPECT_EQ(workload.requests.back().arrival, 30'000'000'000);
  EXPECT_GT(workload.requests.front().arrival, 0);  // the first request has a gap too
  EXPECT_TRUE(
      std::is_sorted(workload.requests.begin(), workload.requests.end(),
                     [](const Request& a, const Request& b) { return a.arrival < b.arrival; }));
}

TEST(Generate, GapsHaveTheMeanOfTheRateAndTheSpreadOfTheBurstiness) {
  // Gamma with shape b and mean 1 / rate: deviation 1 / (rate sqrt(b)). Standard error of the mean
  // of 100,000 gaps: deviation / 316; of the deviation less than 1 % for b >= 0.5.
  for (double burstiness : {0.5, 1.0, 4.0}) {
    const auto workload = generate(
        {.num_prompts = 100'000, .request_rate = 20, .burstiness = burstiness, .normalised = false},
        7);
    const Moments gaps = moments_of(gaps_s(workload));
    const double deviation = 0.05 / std::sqrt(burstiness);
    EXPECT_NEAR(gaps.mean, 0.05, 4 * deviation / 316);
    EXPECT_NEAR(gaps.deviation, deviation, 0.04 * deviation);
  }
}

TEST(Generate, InfiniteBurstinessSpacesEvenly) {
  const auto workload = generate(
      {.num_prompts = 4, .request_rate = 8, .burstiness = std::numeric_limits<double>::infinity()},
      0);
  EXPECT_EQ(workload.requests[0].arrival, 125'000'000);
  EXPECT_EQ(workload.requests[3].arrival, 500'000'000);
}

TEST(Generate, InfiniteRateSendsAllAtOnce) {
  const auto workload = generate({.num_prompts = 3}, 0);
  for (const Request& request : workload.requests) EXPECT_EQ(request.arrival, 0);
}

TEST(Generate, OneDistributionDoesNotDisturbTheOthers) {
  SyntheticWorkload spec{.num_prompts = 100, .request_rate = 5};
  spec.input = {Kind::normal, 500, 100};
  spec.output = {Kind::fixed, 10, 0};
  const auto before = generate(spec, 9);
  spec.output = {Kind::lognormal, 200, 1};
  const auto after = generate(spec, 9);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(before.requests[i].arrival, after.requests[i].arrival);
    EXPECT_EQ(before.requests[i].input_tokens, after.requests[i].input_tokens);
  }
}

TEST(Generate, LengthsFollowTheirDistributions) {
  SyntheticWorkload spec{.num_prompts = 50'000};
  spec.input = {Kind::uniform, 100, 900};
  spec.output = {Kind::lognormal, 512, 0.5};
  const auto workload = generate(spec, 3);
  std::vector<double> inputs, logs;
  for (const Request& request : workload.requests) {
    inputs.push_back(static_cast<double>(request.input_tokens));
    logs.push_back(std::log(static_cast<double>(request.output_tokens)));
  }
  // Uniform on 801 integers: mean 500, deviation sqrt((801^2 - 1) / 12) = 231.2; error 231 / 224.
  EXPECT_NEAR(moments_of(inputs).mean, 500, 4 * 1.03);
  EXPECT_NEAR(moments_of(inputs).deviation, 231.2, 3);
  EXPECT_EQ(*std::min_element(inputs.begin(), inputs.end()), 100);
  EXPECT_EQ(*std::max_element(inputs.begin(), inputs.end()), 900);
  // ln(512) = 6.238; error 0.5 / 224.
  EXPECT_NEAR(moments_of(logs).mean, 6.238, 4 * 0.0023);
  EXPECT_NEAR(moments_of(logs).deviation, 0.5, 0.01);
}

TEST(Generate, DrawsBelowOneAreRaisedAndCounted) {
  SyntheticWorkload spec{.num_prompts = 10'000};
  spec.input = {Kind::normal, 10, 20};
  const auto workload = generate(spec, 3);
  for (const Request& request : workload.requests) EXPECT_GE(request.input_tokens, 1);
  ASSERT_EQ(workload.notes.size(), 1u);
  // Below 0.5 with probability Phi(-0.475) = 0.317: the note has a count of about 3,170.
  EXPECT_NEAR(count_in(workload.notes[0]), 3170, 4 * 47);
  EXPECT_THAT(workload.notes[0], HasSubstr("input lengths"));
}

TEST(Generate, KnobsOutOfRangeAreNamed) {
  EXPECT_THAT([] { generate({.num_prompts = 0}, 0); },
              ThrowsMessage<Error>(HasSubstr("`num_prompts` is 0")));
  EXPECT_THAT([] { generate({.request_rate = 0}, 0); },
              ThrowsMessage<Error>(HasSubstr("`request_rate` is 0")));
  EXPECT_THAT([] { generate({.request_rate = std::nan("")}, 0); },
              ThrowsMessage<Error>(HasSubstr("`request_rate` is nan")));
  EXPECT_THAT([] { generate({.request_rate = 1e-9}, 0); },
              ThrowsMessage<Error>(HasSubstr("ten years")));
  EXPECT_THAT([] { generate({.burstiness = -1}, 0); },
              ThrowsMessage<Error>(HasSubstr("burstiness is -1")));
}

TEST(LengthDistribution, TakesVllmsForms) {
  EXPECT_EQ(parse_length_distribution("512").a, 512);
  EXPECT_EQ(parse_length_distribution("1k").a, 1000);
  EXPECT_EQ(parse_length_distribution("1K").a, 1024);
  EXPECT_EQ(parse_length_distribution("1Ki").a, 1024);
  EXPECT_EQ(parse_length_distribution("1.5k").a, 1500);
  const auto uniform = parse_length_distribution("uniform:100:2k");
  EXPECT_EQ(uniform.kind, Kind::uniform);
  EXPECT_EQ(uniform.a, 100);
  EXPECT_EQ(uniform.b, 2000);
  EXPECT_EQ(parse_length_distribution("normal:512:64").b, 64);
  EXPECT_EQ(parse_length_distribution("lognormal:512:0.8").b, 0.8);
}

TEST(LengthDistribution, ReadsBackItsOwnText) {
  for (const char* text : {"512", "uniform:100:900", "normal:512.5:64", "lognormal:512:0.8"}) {
    EXPECT_EQ(to_text(parse_length_distribution(text)), text);
  }
}

TEST(LengthDistribution, WhatItCannotReadIsShownWithTheForms) {
  for (const char* text :
       {"", "0", "-5", "1.5", "abc", "5x", "uniform:9:1", "uniform:1", "normal:0:1", "normal:5:-1",
        "lognormal:5:nan", "lognormal:5:99", "zipf:1:2", "99999999999", "1e400", "512:", "k"}) {
    EXPECT_THAT([&] { parse_length_distribution(text); },
                ThrowsMessage<Error>(HasSubstr("uniform:LOW:HIGH")))
        << text;
  }
}

TEST(MaxTokens, EndLongerOutputsAndAreDeclaredByAll) {
  Workload workload;
  workload.requests = {{.output_tokens = 5}, {.output_tokens = 9}};
  declare_max_tokens(workload, std::nullopt);
  EXPECT_EQ(workload.requests[1].max_tokens, kExactMaxTokens);
  declare_max_tokens(workload, 7);
  EXPECT_EQ(workload.requests[0].output_tokens, 5);
  EXPECT_EQ(workload.requests[0].max_tokens, 7);
  EXPECT_EQ(workload.requests[1].output_tokens, 7);
  ASSERT_EQ(workload.notes.size(), 1U);
  EXPECT_EQ(workload.notes[0], "1 output cut at max_tokens 7");
  declare_max_tokens(workload, kNoMaxTokens);
  EXPECT_EQ(workload.requests[1].max_tokens, kNoMaxTokens);
  EXPECT_EQ(workload.requests[1].output_tokens, 7);
}

}  // namespace
}  // namespace roofcast::test

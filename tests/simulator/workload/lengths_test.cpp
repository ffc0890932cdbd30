#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "simulator/workload/generate_parts.hpp"
#include "simulator/workload/workload.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Kind = LengthDistribution::Kind;
using Style = RangeRatio::Style;

double mean_input(const Workload& workload) {
  double sum = 0;
  for (const Request& request : workload.requests) {
    sum += static_cast<double>(request.input_tokens);
  }
  return sum / static_cast<double>(workload.requests.size());
}

std::string range_text(std::int64_t length, double ratio, Style style) {
  return to_text(with_range(fixed_length(length), ratio, style, "input"));
}

TEST(RangeRatio, OfVllmSpreadsToBothSides) {
  // floor(L (1 - r)) to ceil(L (1 + r)), at least 1.
  EXPECT_EQ(range_text(1000, 0.25, Style::vllm), "uniform:750:1250");
  EXPECT_EQ(range_text(10, 0.33, Style::vllm), "uniform:6:14");  // 6.7 and 13.3
  EXPECT_EQ(range_text(1, 0.9, Style::vllm), "uniform:1:2");     // 0.1 and 1.9
  EXPECT_EQ(range_text(1000, 0, Style::vllm), "1000");
}

TEST(RangeRatio, OfSglangSpreadsDownwards) {
  // max(int(L r), 1) to L.
  EXPECT_EQ(range_text(1000, 0.25, Style::sglang), "uniform:250:1000");
  EXPECT_EQ(range_text(10, 0.39, Style::sglang), "uniform:3:10");
  EXPECT_EQ(range_text(1000, 0, Style::sglang), "uniform:1:1000");
  EXPECT_EQ(range_text(1000, 1, Style::sglang), "1000");
}

TEST(RangeRatio, MeansDifferBetweenTheStyles) {
  SyntheticWorkload spec{.num_prompts = 40'000, .input = fixed_length(1000)};
  // vLLM: 501 values around 1000, deviation sqrt((501^2 - 1) / 12) = 144.6; error 144.6 / 200.
  spec.range_ratio = {.style = Style::vllm, .input = 0.25};
  EXPECT_NEAR(mean_input(generate(spec, 4)), 1000, 4 * 0.723);
  // SGLang: 250 to 1000, mean 625, deviation sqrt((751^2 - 1) / 12) = 216.8; error 216.8 / 200.
  spec.range_ratio.style = Style::sglang;
  EXPECT_NEAR(mean_input(generate(spec, 4)), 625, 4 * 1.084);
}

TEST(RangeRatio, LeavesTheLengthWithoutARatioAlone) {
  SyntheticWorkload spec{.num_prompts = 100};
  spec.range_ratio = {.input = 0.5};
  const Workload workload = generate(spec, 1);
  for (const Request& request : workload.requests) EXPECT_EQ(request.output_tokens, 128);
  EXPECT_THAT(workload.description, HasSubstr("input uniform:512:1536, output 128"));
}

TEST(RangeRatio, OutOfRangeIsNamed) {
  EXPECT_THAT([] { range_text(10, 1, Style::vllm); },
              ThrowsMessage<Error>(HasSubstr("`range_ratio` of the input length is 1")));
  EXPECT_THAT([] { range_text(10, 1.5, Style::sglang); },
              ThrowsMessage<Error>(HasSubstr("is 1.5, expected 0 to 1")));
  EXPECT_THAT([] { range_text(10, std::nan(""), Style::vllm); },
              ThrowsMessage<Error>(HasSubstr("is nan")));
  EXPECT_THAT([] { range_text(kMaxTokens, 0.5, Style::vllm); },
              ThrowsMessage<Error>(HasSubstr("at most 10000000")));
  EXPECT_THAT(
      [] { with_range({.kind = Kind::lognormal, .a = 512, .b = 1}, 0.5, Style::vllm, "output"); },
      ThrowsMessage<Error>(HasSubstr("not lognormal:512:1")));
}

TEST(BoundedLengths, AreReadAndWrittenBack) {
  for (const char* text : {"normal:512:64:1:1024", "lognormal:512:0.8:16:4096"}) {
    EXPECT_EQ(to_text(parse_length_distribution(text)), text);
  }
  EXPECT_EQ(parse_length_distribution("normal:512:64:1:2k").max, 2000);
  for (const char* text : {"normal:512:64:5", "normal:512:64:9:3", "normal:512:64:0:3",
                           "uniform:1:2:1:2", "lognormal:5:1:1.5:3"}) {
    EXPECT_THAT([&] { parse_length_distribution(text); },
                ThrowsMessage<Error>(HasSubstr("normal:MEAN:SD[:MIN:MAX]")))
        << text;
  }
}

TEST(BoundedLengths, OutsideDrawsMoveToTheNearerEnd) {
  SyntheticWorkload spec{.num_prompts = 10'000};
  spec.input = parse_length_distribution("normal:500:300:400:600");
  const Workload workload = generate(spec, 2);
  std::int64_t low = kMaxTokens, high = 0;
  for (const Request& request : workload.requests) {
    low = std::min(low, request.input_tokens);
    high = std::max(high, request.input_tokens);
  }
  EXPECT_EQ(low, 400);
  EXPECT_EQ(high, 600);
  // Below 399.5 or above 600.5: 2 (1 - Phi(0.335)) = 0.7376 of 10,000, deviation 44.
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_NEAR(count_in(workload.notes[0]), 7376, 4 * 44);
  EXPECT_THAT(workload.notes[0], HasSubstr("outside 400 to 600"));
}

LengthTable observed_pairs() {
  return {.file = "lengths.csv",
          .paired = true,
          .rows = {{.input_tokens = 10, .output_tokens = 1, .count = 3},
                   {.input_tokens = 20, .output_tokens = 2, .count = 1}}};
}

SyntheticWorkload empirical(std::int64_t requests) {
  const LengthDistribution lengths = parse_length_distribution("empirical:lengths.csv");
  return {.num_prompts = requests, .input = lengths, .output = lengths};
}

TEST(EmpiricalLengths, PairsStayTogetherAndComeAsOftenAsTheyWereSeen) {
  const Workload workload = generate(empirical(10'000), 6, {observed_pairs()});
  std::int64_t first = 0;
  for (const Request& request : workload.requests) {
    EXPECT_EQ(request.input_tokens, 10 * request.output_tokens);
    if (request.input_tokens == 10) ++first;
  }
  EXPECT_NEAR(static_cast<double>(first), 7500, 4 * 43.3);  // sqrt(10,000 x 3/4 x 1/4) = 43.3
}

TEST(EmpiricalLengths, OfOneColumnAreDrawnApart) {
  LengthTable table = observed_pairs();
  table.paired = false;
  const Workload workload = generate(empirical(1000), 6, {table});
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const Request& request : workload.requests) {
    seen.emplace(request.input_tokens, request.output_tokens);
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(EmpiricalLengths, AFileThatWasNotReadIsNamed) {
  EXPECT_THAT([] { generate(empirical(1), 0); },
              ThrowsMessage<Error>(HasSubstr("lengths.csv: no lengths were read")));
}

}  // namespace
}  // namespace roofcast::test

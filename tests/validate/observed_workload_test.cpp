#include "validate/observed_workload.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string series(const std::string& name, const std::string& labels,
                   const std::vector<std::int64_t>& values) {
  std::string samples;
  for (std::size_t i = 0; i < values.size(); ++i) {
    samples += fmt::format("{}[{},\"{}\"]", i == 0 ? "" : ",", 1'000'000 + 60 * i, values[i]);
  }
  return fmt::format(R"({{"metric":{{"__name__":"vllm:{}"{}}},"values":[{}]}})", name, labels,
                     samples);
}

std::string answer(const std::vector<std::string>& all) {
  std::string joined;
  for (const std::string& one : all) joined += (joined.empty() ? "" : ",\n") + one;
  return fmt::format(R"({{"status":"success","data":{{"resultType":"matrix","result":[{}]}}}})",
                     joined);
}

/// Three samples a minute apart: 30,000 prompts of up to 100 tokens in the first minute, 60,000 of
/// 101 to 200 in the second, 12,000,000 tokens in all; outputs of 1 to 50, 20 on average.
std::vector<std::string> two_minutes() {
  return {series("time_to_first_token_seconds_count", "", {500, 30'500, 90'500}),
          series("time_to_first_token_seconds_sum", "", {100, 3'100, 18'100}),
          series("request_prompt_tokens_bucket", R"(,"le":"100")", {7, 30'007, 30'007}),
          series("request_prompt_tokens_bucket", R"(,"le":"200.0")", {7, 30'007, 90'007}),
          series("request_prompt_tokens_bucket", R"(,"le":"+Inf")", {7, 30'007, 90'007}),
          series("request_prompt_tokens_sum", "", {50, 50, 12'000'050}),
          series("request_prompt_tokens_count", "", {7, 30'007, 90'007}),
          series("request_generation_tokens_bucket", R"(,"le":"50")", {7, 30'007, 90'007}),
          series("request_generation_tokens_bucket", R"(,"le":"+Inf")", {7, 30'007, 90'007}),
          series("request_generation_tokens_sum", "", {9, 600'009, 1'800'009}),
          series("request_generation_tokens_count", "", {7, 30'007, 90'007})};
}

ObservedLoad read(const std::string& text) {
  std::istringstream bytes(text);
  ByteSource source(bytes, "range.json");
  return read_observed_load(source);
}

TEST(ObservedWorkload, HoldsWhatWasCountedMinuteByMinute) {
  const Workload workload = workload_of(read(answer(two_minutes())), 1);
  ASSERT_EQ(workload.requests.size(), 90'000u);
  double input = 0;
  double output = 0;
  Nanoseconds before = 0;
  std::int64_t in_first = 0;
  for (const Request& request : workload.requests) {
    EXPECT_GE(request.arrival, before);
    before = request.arrival;
    // The first of 30,000 comes 2 ms after the minute began.
    const bool first = in_first < 30'000;
    if (first) ++in_first;
    EXPECT_LE(request.arrival, (first ? 60 : 120) * kSecond);
    EXPECT_GE(request.input_tokens, first ? 1 : 100);  // 100.2 is rounded
    EXPECT_LE(request.input_tokens, first ? 100 : 200);
    EXPECT_LE(request.output_tokens, 50);
    input += static_cast<double>(request.input_tokens);
    output += static_cast<double>(request.output_tokens);
  }
  EXPECT_GT(workload.requests[30'000].arrival, 59 * kSecond);
  // A length varies by less than its range, 100 and 50 tokens: five standard errors of the mean are
  // at most 5 x 100 / 2 / 300 = 0.8 and 0.4.
  EXPECT_NEAR(input / 90'000, 12'000'000 / 90'000.0, 0.8);
  EXPECT_NEAR(output / 90'000, 20, 0.4);
}

TEST(ObservedWorkload, TellsWhatItsFiguresRestOn) {
  auto all = two_minutes();
  all.push_back(series("prefix_cache_queries_total", "", {0, 1000, 2000}));
  all.push_back(series("prefix_cache_hits_total", "", {0, 100, 500}));
  const ObservedLoad load = read(answer(all));
  const Workload workload = workload_of(load, 1);
  EXPECT_THAT(workload.notes, Contains(HasSubstr("time_to_first_token_seconds_count")));
  EXPECT_THAT(workload.notes, Contains(HasSubstr("25.0 % of the prompts' tokens")));
  // 18,000 s of 90,000 first tokens.
  ASSERT_FALSE(load.measured.metrics.empty());
  EXPECT_EQ(load.measured.metrics[0].name, "ttft_s");
  EXPECT_NEAR(load.measured.metrics[0].value, 0.2, 1e-12);
}

// trtllm-serve's metrics (tensorrt_llm/metrics/collector.py): no histograms of lengths, but all
// tokens. 100 requests of 500 and 20 tokens in the first minute, 50 of 2,001.5 and 100 in the
// second; a request's TPOT is its own.
TEST(ObservedWorkload, OfTensorRtHasTheMeanLengthsOfEachInterval) {
  const auto trtllm = [](const std::string& name, const std::vector<std::int64_t>& values) {
    std::string one = series(name, R"(,"model_name":"m")", values);
    return one.replace(one.find("vllm:"), 5, "trtllm_");
  };
  const std::string text = answer({trtllm("request_success_total", {10, 110, 160}),
                                   trtllm("prompt_tokens_total", {0, 50'000, 150'075}),
                                   trtllm("generation_tokens_total", {0, 2'000, 7'000}),
                                   trtllm("time_per_output_token_seconds_sum", {0, 3, 3}),
                                   trtllm("time_per_output_token_seconds_count", {0, 100, 150})});
  const ObservedLoad load = read(text);
  EXPECT_EQ(load.engine, "trtllm");
  EXPECT_EQ(load.measured.setting.engine, "tensorrt_llm");
  // 3 s over 150 requests.
  const auto tpot = std::ranges::find(load.measured.metrics, "tpot_s", &MetricRow::name);
  ASSERT_NE(tpot, load.measured.metrics.end());
  EXPECT_NEAR(tpot->value, 0.02, 1e-12);
  const Workload workload = workload_of(load, 1);
  ASSERT_EQ(workload.requests.size(), 150u);
  std::int64_t second = 0;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    const bool first = i < 100;
    EXPECT_EQ(request.output_tokens, first ? 20 : 100);
    if (first) {
      EXPECT_EQ(request.input_tokens, 500);
    } else {
      second += request.input_tokens;
    }
  }
  EXPECT_EQ(second, 100'075);
  const Workload assumed =
      workload_of(load, 1, {.input = parse_length_distribution("uniform:100:200")});
  for (const Request& request : assumed.requests) {
    EXPECT_GE(request.input_tokens, 100);
    EXPECT_LE(request.input_tokens, 200);
  }
  EXPECT_THAT(assumed.notes, Contains(HasSubstr("assumed to be uniform:100:200")));
}

TEST(ObservedWorkload, WithoutLengthsSaysWhatToGive) {
  std::string text = answer({series("request_success_total", "", {0, 9})});
  text.replace(text.find("vllm:"), 5, "trtllm:");  // as Dynamo 0.7 names them
  try {
    workload_of(read(text), 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("prompt_tokens_total"));
    EXPECT_THAT(error.what(), HasSubstr("`input_len`"));
  }
}

TEST(ObservedWorkload, ASeedGivesOneWorkload) {
  const ObservedLoad load = read(answer(two_minutes()));
  const auto arrivals = [&](std::uint64_t seed) {
    std::vector<Nanoseconds> times;
    for (const Request& request : workload_of(load, seed).requests)
      times.push_back(request.arrival);
    return times;
  };
  EXPECT_EQ(arrivals(3), arrivals(3));
  EXPECT_NE(arrivals(3), arrivals(4));
}

// Counted again from zero in the second minute: 30,000, then 5.
TEST(ObservedWorkload, ARestartIsNoNegativeLoad) {
  auto all = two_minutes();
  all[0] = series("time_to_first_token_seconds_count", "", {500, 30'500, 5});
  EXPECT_EQ(workload_of(read(answer(all)), 1).requests.size(), 30'005u);
}

// 0.6 requests a minute make 1 in two, whichever minute it falls into.
TEST(ObservedWorkload, FractionsOfRequestsAddUp) {
  auto all = two_minutes();
  all[0] =
      R"({"metric":{"__name__":"vllm:time_to_first_token_seconds_count"},"values":[[1000000,"0"],[1000060,"0.4"],[1000120,"1.2"]]})";
  EXPECT_EQ(workload_of(read(answer(all)), 1).requests.size(), 1u);
}

TEST(ObservedWorkload, BoundsThatAreNoLengthsAreLeftOut) {
  auto all = two_minutes();
  for (const char* bound : {"-Inf", "NaN", "-3", "many"}) {
    all.push_back(series("request_prompt_tokens_bucket", fmt::format(R"(,"le":"{}")", bound),
                         {0, 500, 9'000}));
  }
  for (const Request& request : workload_of(read(answer(all)), 1).requests) {
    ASSERT_LE(request.input_tokens, 200);
  }
}

TEST(ObservedWorkload, SaysWhereTheMeanIsBeyondTheHistogram) {
  auto all = two_minutes();
  all[5] = series("request_prompt_tokens_sum", "", {0, 0, 900'000'000});
  EXPECT_THAT(workload_of(read(answer(all)), 1).notes, Contains(HasSubstr("last bound")));
}

TEST(ObservedWorkload, SaysWhatIsMissing) {
  const auto refusal = [](const std::string& text) {
    try {
      workload_of(read(text), 1);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(refusal(answer({})), HasSubstr("without rate() or increase()"));
  auto all = two_minutes();
  EXPECT_THAT(refusal(answer({all[0], all[1]})), HasSubstr("vllm:request_prompt_tokens or "));
  EXPECT_THAT(refusal(answer({all.begin() + 2, all.begin() + 6})),
              HasSubstr("vllm:time_to_first_token_seconds_count"));
  EXPECT_THAT(refusal(answer({series("time_to_first_token_seconds_count", "", {500})})),
              HasSubstr("single time"));
  all[0] = series("time_to_first_token_seconds_count", "", {500, 500, 500});
  EXPECT_THAT(refusal(answer(all)), HasSubstr("counts no request"));
}

}  // namespace
}  // namespace roofcast::test

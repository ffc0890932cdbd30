#include <gmock/gmock.h>

#include "tests/simulator/io/trace_support.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Nanoseconds> arrivals(const Workload& workload) {
  std::vector<Nanoseconds> times;
  for (const Request& request : workload.requests) times.push_back(request.arrival);
  return times;
}

// Keys as `vllm bench serve --save-result --save-detailed` writes them, over several lines.
constexpr const char* kVllm = R"({"date": "20260102-030405", "backend": "vllm", "tp": "2",
 "request_rate": "inf", "max_concurrency": null, "request_throughput": 1.5, "p99_ttft_ms": Infinity,
 "input_lens": [100, 200, 300], "output_lens": [10, 0, 30], "ttfts": [0.05, 0.0, NaN],
 "itls": [[0.01, 0.01], [], [0.011]], "start_times": [10.00, 10.25, 10.5],
 "generated_texts": ["say \"input_lens\": [1]", "{", "\\"], "errors": ["", "timeout", ""]})";

TEST(TraceBench, AVllmResultIsReplayedAtItsStartTimes) {
  const auto workload = read_text(kVllm, {.path = "r.json"});
  ASSERT_EQ(workload.requests.size(), 3u);
  EXPECT_THAT(arrivals(workload), ElementsAre(0, 250 * kMillisecond, 500 * kMillisecond));
  EXPECT_EQ(workload.requests[2].input_tokens, 300);
  EXPECT_EQ(workload.requests[2].output_tokens, 30);
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("1 row with 0 output tokens changed to 1")));
  EXPECT_THAT(workload.description, HasSubstr("r.json: 3 requests over 0.5 s"));
}

TEST(TraceBench, FailedRequestsCanBeLeftOut) {
  const auto workload = read_text(kVllm, {.drop_failed = true});
  EXPECT_THAT(arrivals(workload), ElementsAre(0, 500 * kMillisecond));
}

TEST(TraceBench, WithoutStartTimesRequestsAreSpacedByTheRequestRate) {
  const auto workload =
      read_text(R"({"backend": "sglang", "request_rate": 4, "request_throughput": 3.9,)"
                R"( "input_lens": [1, 2, 3], "output_lens": [4, 5, 6]})"
                "\n");
  EXPECT_THAT(arrivals(workload), ElementsAre(0, 250 * kMillisecond, 500 * kMillisecond));
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("spaced evenly at its request_rate, 4/s")));
}

TEST(TraceBench, AnInfiniteRateIsAllAtOnceHoweverItIsWritten) {
  for (const char* rate : {"Infinity", "\"inf\"", "null"}) {
    const auto workload = read_text(std::string(R"({"request_rate": )") + rate +
                                    R"(, "input_lens": [1, 2], "output_lens": [4, 5]})");
    EXPECT_THAT(arrivals(workload), ElementsAre(0, 0)) << rate;
    EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("all arrive at once"))) << rate;
  }
}

TEST(TraceBench, AClosedLoopKeepsItsLimitUnlessStartTimesHaveItInThem) {
  const auto with = [](const std::string& keys) {
    return read_text(R"({"request_rate": Infinity, "input_lens": [1, 2], "output_lens": [4, 5], )" +
                     keys + "}");
  };
  EXPECT_EQ(with(R"("max_concurrency": 2)").recorded_limit, 2);
  EXPECT_EQ(with(R"("max_concurrency": null)").recorded_limit, std::nullopt);
  const auto timed = with(R"("max_concurrency": 2, "start_times": [0.5, 1.5])");
  EXPECT_EQ(timed.recorded_limit, std::nullopt);
  EXPECT_THAT(timed.notes, ElementsAre(HasSubstr("at most 2 requests in flight")));
}

TEST(TraceBench, OnlyTheFirstOfSeveralResultsIsReplayed) {
  const auto workload =
      read_text(R"({"request_rate": 1, "input_lens": [1], "output_lens": [4]})"
                "\n"
                R"({"request_rate": 2, "input_lens": [1, 1], "output_lens": [4, 4]})");
  EXPECT_EQ(workload.requests.size(), 1u);
  EXPECT_THAT(workload.notes, testing::Contains(HasSubstr("only the first is replayed")));
}

TEST(TraceBench, WhatCannotBeReplayedSaysWhy) {
  const TraceWorkload bench{.path = "r.json", .format = TraceFormat::bench};
  struct Case {
    std::string text;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({"request_throughput": 2.0, "mean_ttft_ms": 3})",
            "has no input_lens: expected a det"},
           {R"({"input_lens": [1]})", "has no output_lens"},
           {R"({"input_lens": [1, 2], "output_lens": [1]})",
            "output_lens has 1 entries, expected 2"},
           {R"({"input_lens": [1], "output_lens": [1], "start_times": []})", "start_times has 0"},
           {R"({"input_lens": 5, "output_lens": [1]})", "input_lens is '5', expected a list"},
           {R"({"input_lens": {"a": 1}, "output_lens": [1]})", "input_lens holds an object"},
           {R"({"input_lens": [[1]], "output_lens": [1]})", "input_lens holds a list"},
           {R"({"input_lens": [1], "input_lens": [1], "output_lens": [1]})", "is given twice"},
           {R"({"input_lens": [-1], "output_lens": [1]})", "entry 1: input_lens is '-1'"},
           {R"({"input_lens": [1], "output_lens": [null]})", "entry 1: output_lens is 'null'"},
           {R"({"input_lens": [1], "output_lens": [1], "start_times": [1e300]})",
            "entry 1: start_times is '1e300'"},
           {R"({"input_lens": [1], "output_lens": [1], "request_rate": "trace"})",
            "request_rate is 'trace': arrival times are unknown"},
           {R"({"input_lens": [1], "output_lens": [1], "request_rate": 0})", "request_rate is '0'"},
           {R"({"input_lens": [1], "output_lens": [1], "max_concurrency": 0.5})",
            "max_concurrency is '0.5', expected null or a whole number above 0"},
           {R"({"input_lens": [], "output_lens": []})", "has no rows"},
           {R"({"input_lens": [1], "output_lens": [1)", "is not JSON from character"},
           {"[]", "is a list, expected a JSON object"},
           {"", "is not JSON"},
           {R"({"a": )" + std::string(40, '['), "nests deeper than 32 levels"},
           {R"({"generated_texts": [")" + std::string((17 << 20), 'x'),
            "a string of over 16 MiB"}}) {
    EXPECT_THAT(error_in(c.text, bench), AllOf(HasSubstr("r.json: "), HasSubstr(c.message)))
        << c.text.substr(0, 100);
  }
}

TEST(TraceBench, HasNoColumnsToName) {
  EXPECT_THAT(error_in(R"({"input_lens": [1], "output_lens": [1]})",
                       {.columns = parse_trace_columns("input=prompt_lens")}),
              HasSubstr("has no columns to name"));
}

TEST(TraceBench, BadEntriesAreSkippedAndCountedWhenAsked) {
  const auto workload =
      read_text(R"({"input_lens": [1, -1, 3], "output_lens": [1, 1, 1]})", {.skip_bad_rows = true});
  EXPECT_EQ(workload.requests.size(), 2u);
  EXPECT_THAT(workload.notes, testing::Contains(HasSubstr("entry 2: input_lens is '-1'")));
}

}  // namespace
}  // namespace roofcast::test

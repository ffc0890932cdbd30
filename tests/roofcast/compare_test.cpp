// Stored runs side by side. What the command prints of them: tests/cli/compare_command_test.cpp.
#include "roofcast/compare.hpp"

#include "tests/roofcast/read_back.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

Run run_with(std::int64_t id, double ttft, std::vector<MetricRow> more = {}) {
  Run run;
  run.row.id = id;
  run.row.kind = "simulate";
  run.metrics = {{"ttft_s", "p95", ttft}};
  run.metrics.insert(run.metrics.end(), more.begin(), more.end());
  return run;
}

CompareAnswer compared(std::vector<Run> runs) {
  return compare({.store = "kept.db", .runs = std::move(runs)});
}

CompareAnswer round_trip(const CompareAnswer& answer) {
  return read_back(answer, compare_answer_from_json, compare_answer_schema());
}

TEST(CompareAnswer, HasEveryFigureOfEveryRunAndItsChangeFromTheFirst) {
  const CompareAnswer answer = compared(
      {run_with(3, 0.5), run_with(7, 0.4, {{"makespan_s", "value", 9}}), run_with(8, 1.0)});
  ASSERT_EQ(answer.metrics.size(), 2U);  // by name
  const ComparedMetric& makespan = answer.metrics[0];
  EXPECT_THAT(makespan.values, ElementsAre(std::nullopt, Optional(9.0), std::nullopt));
  EXPECT_THAT(makespan.changes, ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  const ComparedMetric& ttft = answer.metrics[1];
  EXPECT_EQ(ttft.name, "ttft_s");
  EXPECT_EQ(ttft.statistic, "p95");
  ASSERT_EQ(ttft.changes.size(), 3U);
  EXPECT_EQ(ttft.changes[0], 0.0);
  EXPECT_NEAR(*ttft.changes[1], -0.2, 1e-12);
  EXPECT_NEAR(*ttft.changes[2], 1.0, 1e-12);
  EXPECT_THAT(answer.inputs.runs, ElementsAre(3, 7, 8));
  EXPECT_EQ(round_trip(answer).metrics[1].changes, ttft.changes);
}

TEST(CompareAnswer, NamesTheTwoOfAPair) {
  const Json json = to_json(compared({run_with(3, 0.5), run_with(7, 1.0)}));
  EXPECT_EQ(json["inputs"]["a"], 3);
  EXPECT_EQ(json["b"]["id"], 7);
  EXPECT_EQ(json["metrics"][0]["a"], 0.5);
  EXPECT_THAT(json["metrics"][0]["texts"], ElementsAre("500.0 ms", "1.00 s"));
  EXPECT_EQ(json["metrics"][0]["relative_change"], 1.0);
  EXPECT_FALSE(to_json(compared({run_with(1, 1), run_with(2, 1), run_with(3, 1)})).contains("a"));
}

TEST(CompareAnswer, AFigureThatARunLacksHasNoText) {
  const Json json =
      to_json(compared({run_with(3, 0.5, {{"mfu", "value", 0.25}}), run_with(7, 1.0)}));
  EXPECT_THAT(json["metrics"][0]["texts"], ElementsAre("25.0 %", "-"));
  EXPECT_TRUE(json["metrics"][0]["b"].is_null());
}

TEST(CompareAnswer, DifferencesAreOfRunsThatKeptTheirRequests) {
  EXPECT_TRUE(compared({run_with(1, 1), run_with(2, 2)}).differences.empty());
  // 100 requests of 1 s each against the same of 1.5 s.
  const auto kept = [](std::int64_t id, double ttft) {
    roofcast::Run run = run_with(id, ttft);
    run.metrics = {{"ttft_s", "mean", ttft}};
    for (std::int64_t i = 0; i < 100; ++i) {
      const double arrival = static_cast<double>(i);
      run.requests.push_back({.index = i,
                              .arrival_s = arrival,
                              .first_token_s = arrival + ttft,
                              .finished_s = arrival + 2,
                              .input_tokens = 10,
                              .output_tokens = 1});
    }
    return run;
  };
  const CompareAnswer answer = compared({kept(1, 1.0), kept(2, 1.5)});
  ASSERT_EQ(answer.differences.size(), 1U);
  const ComparedRequests& one = answer.differences[0];
  EXPECT_EQ(one.id, 2);
  EXPECT_TRUE(one.same_requests);
  EXPECT_NEAR(one.difference.mean, 0.5, 1e-9);
  EXPECT_TRUE(one.difference.significant());
  round_trip(answer);
}

TEST(Compare, TakesTwoToFiftyRuns) {
  EXPECT_THAT(complaint([] { compared({run_with(1, 1)}); }), HasSubstr("2 to 50 runs, not 1"));
  EXPECT_THAT(complaint([] { check_compared(51); }), HasSubstr("not 51"));
  EXPECT_EQ(complaint([] { check_compared(50); }), "");
}

}  // namespace
}  // namespace roofcast::test

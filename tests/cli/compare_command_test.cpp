#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/store.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

/// A run with one metric in common and one of its own.
Run run_with(double ttft, const std::string& own_metric) {
  Run run;
  run.row = {.kind = "simulate",
             .created_at = "2026-01-31T12:00:00Z",
             .tool_version = "0",
             .command_line = "roofcast simulate",
             .model = "m",
             .gpu = "g",
             .engine = "e",
             .scenario_json = "{}",
             .profile_hash = "",
             .summary = "a summary"};
  run.metrics = {{"ttft_s", "p50", ttft}, {"requests_lost", "value", 0}, {own_metric, "mean", 1}};
  return run;
}

class Compare : public testing::Test {
 protected:
  Compare() {
    Store store(path_, Store::Mode::write);
    store.add(run_with(0.2, "only_a"));
    store.add(run_with(0.25, "only_b"));
  }

  TemporaryFolder folder_;
  std::string path_ = (folder_.path() / "runs.db").string();
};

TEST_F(Compare, ListsWhatTheRunsHaveAndHowItChanged) {
  const CommandResult result = run_command("compare 1 2 -o json --store " + path_);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json["metrics"].size(), 4U);  // by name
  EXPECT_EQ(json["metrics"][2]["name"], "requests_lost");
  EXPECT_EQ(json["metrics"][2]["relative_change"], 0.0);
  EXPECT_EQ(json["metrics"][3]["name"], "ttft_s");
  EXPECT_NEAR(json["metrics"][3]["relative_change"].get<double>(), 0.25, 1e-12);
}

TEST_F(Compare, AMetricOfOneRunStandsBesideADash) {
  const auto json = nlohmann::json::parse(run_command("compare 1 2 -o json --store " + path_).out);
  EXPECT_EQ(json["metrics"][0]["name"], "only_a");
  EXPECT_EQ(json["metrics"][0]["a"], 1.0);
  EXPECT_TRUE(json["metrics"][0]["b"].is_null());
  EXPECT_TRUE(json["metrics"][0]["relative_change"].is_null());
  EXPECT_EQ(json["metrics"][1]["name"], "only_b");
  EXPECT_TRUE(json["metrics"][1]["a"].is_null());
  const CommandResult table = run_command("compare 1 2 --store " + path_);
  EXPECT_THAT(table.out, testing::ContainsRegex("only a mean +1 +- *\n"));
  EXPECT_THAT(table.out, testing::ContainsRegex("only b mean +- +1 *\n"));
}

TEST_F(Compare, TextsAreThoseOfTheTable) {
  {
    Store store(path_, Store::Mode::write);
    for (const double met : {1, 0}) {
      auto run = run_with(0.2, "x");
      run.metrics.push_back({"slo_met", "value", met});
      store.add(run);
    }
  }
  EXPECT_THAT(run_command("compare 3 4 --store " + path_).out,
              testing::ContainsRegex("SLO met +yes +no "));
  const auto json =
      nlohmann::json::parse(run_command("compare 1 3 4 -o json --store " + path_).out);
  for (const auto& metric : json["metrics"]) {
    if (metric["name"] == "slo_met") {
      EXPECT_EQ(metric["texts"], (nlohmann::json{"-", "yes", "no"}));
    }
    if (metric["name"] == "ttft_s") {
      EXPECT_EQ(metric["texts"][0], "200.0 ms");
    }
  }
}

// The store lists by name, which puts `client_queue_s` before `ttft_s`.
TEST_F(Compare, BeginsWithLatenciesThatSomeRunHas) {
  {
    Store store(path_, Store::Mode::write);
    for (const double tpot : {0.01, 0.02}) {
      auto run = run_with(0.2, "x");
      run.metrics.push_back({"client_queue_s", "mean", 0});
      run.metrics.push_back({"cost_usd_per_h", "value", 4.5});
      run.metrics.push_back({"tpot_s", "mean", tpot});
      store.add(run);
    }
  }
  const std::string out = run_command("compare 3 4 --store " + path_).out;
  EXPECT_THAT(out, testing::ContainsRegex("TTFT p50 [^\n]*\n *TPOT mean [^\n]*\n *\\$/h "));
  EXPECT_THAT(out, testing::Not(HasSubstr("client queue")));
  EXPECT_THAT(run_command("compare 3 4 -o json --store " + path_).out, HasSubstr("client_queue_s"));
}

TEST_F(Compare, AKindOfRunHasATitle) {
  {
    Store store(path_, Store::Mode::write);
    auto run = run_with(0.2, "x");
    run.row.kind = "capacity_table";
    store.add(run);
  }
  const auto runs = nlohmann::json::parse(run_command("runs -o json --store " + path_).out)["runs"];
  EXPECT_EQ(runs[0]["kind"], "capacity_table");  // the newest
  EXPECT_EQ(runs[0]["kind_title"], "capacity of several GPUs");
  EXPECT_EQ(runs[1]["kind_title"], "simulation");
}

// All four are named in JSON.
TEST_F(Compare, TheListOfRunsShortensManyGpus) {
  {
    Store store(path_, Store::Mode::write);
    auto run = run_with(0.2, "x");
    run.row.gpu = "a + b + c";
    store.add(run);
    run.row.gpu = "a + b + c + d";
    store.add(run);
  }
  const std::string out = run_command("runs --store " + path_).out;
  EXPECT_THAT(out, HasSubstr(" a + b + c "));
  EXPECT_THAT(out, HasSubstr(" a + 3 more "));
  for (const char* format : {"json", "csv", "md"}) {
    EXPECT_THAT(run_command("runs --store " + path_ + " -o " + format).out,
                HasSubstr("a + b + c + d"))
        << format;
  }
}

TEST_F(Compare, IsReachedThroughRunsAsWell) {
  const CommandResult result = run_command("runs compare 2 1 --store " + path_);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Run 1 compared with Run 2"));
  EXPECT_THAT(result.out, HasSubstr("-20.0 %"));
}

TEST_F(Compare, NamesARunThatIsNotThere) {
  const CommandResult result = run_command("compare 1 9 --store " + path_);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no run 9"));
}

TEST_F(Compare, TakesTwoRunsOrMore) {
  EXPECT_EQ(run_command("compare 1 --store " + path_).exit_code, 2);
  EXPECT_EQ(run_command("compare --store " + path_).exit_code, 2);
  const CommandResult result = run_command("compare 1 2 1 -o json --store " + path_);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["runs"].size(), 3U);
  const auto& ttft = json["metrics"][3];
  EXPECT_EQ(ttft["values"], (nlohmann::json{0.2, 0.25, 0.2}));
  EXPECT_NEAR(ttft["relative_changes"][1].get<double>(), 0.25, 1e-12);
  EXPECT_EQ(ttft["relative_changes"][2], 0.0);
  EXPECT_FALSE(ttft.contains("a"));  // only for two runs
  EXPECT_TRUE(json["differences"].empty());
}

/// A run with its requests: first tokens `ttft` after arrival, plus `more` in the second half.
Run run_with_requests(double ttft, double more, std::int64_t output_tokens) {
  constexpr int kRequests = 40;
  Run run = run_with(ttft + more / 2, "x");
  run.metrics[0].statistic = "mean";
  for (int i = 0; i < kRequests; ++i) {
    const double first = i + ttft + (2 * i < kRequests ? 0 : more);
    run.requests.push_back({.index = i,
                            .arrival_s = static_cast<double>(i),
                            .sent_s = {},
                            .scheduled_s = {},
                            .first_token_s = first,
                            .finished_s = first + 1,
                            .input_tokens = 5,
                            .output_tokens = output_tokens});
  }
  return run;
}

TEST_F(Compare, RunsThatKeptTheirRequestsHaveIntervals) {
  // Ten of the 20 blocks are 0.2 s apart, ten 0.4 s: mean 0.3, variance of the block means
  // 20 / 19 * 0.1^2, standard error 0.1 / sqrt(19); Student's t of 19 degrees is 2.093024.
  {
    Store store(path_, Store::Mode::write);
    store.add(run_with_requests(0.2, 0, 3));
    store.add(run_with_requests(0.4, 0.2, 3));
    store.add(run_with_requests(0.4, 0.2, 4));  // other requests
  }
  const auto json =
      nlohmann::json::parse(run_command("compare 3 4 5 -o json --store " + path_).out);
  ASSERT_EQ(json["differences"].size(), 2U);  // the only metric that they have in common
  const auto& paired = json["differences"][0];
  EXPECT_EQ(paired["id"], 4);
  EXPECT_TRUE(paired["same_requests"]);
  EXPECT_NEAR(paired["difference"].get<double>(), 0.3, 1e-9);
  EXPECT_NEAR(paired["difference_low"].get<double>(), 0.3 - 2.093024 * 0.1 / std::sqrt(19), 1e-6);
  EXPECT_TRUE(paired["significant"]);
  EXPECT_FALSE(json["differences"][1]["same_requests"]);
  const CommandResult table = run_command("compare 3 4 --store " + path_);
  EXPECT_THAT(table.out, HasSubstr("the same requests, compared pairwise"));
  EXPECT_THAT(table.out, HasSubstr("yes"));
}

}  // namespace
}  // namespace roofcast::test

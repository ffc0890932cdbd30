#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/store.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

/// A run with one metric that both have and one of its own.
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
  EXPECT_THAT(table.out, testing::ContainsRegex("only_a +mean +1 +- *\n"));
  EXPECT_THAT(table.out, testing::ContainsRegex("only_b +mean +- +1 *\n"));
}

TEST_F(Compare, IsReachedThroughRunsAsWell) {
  const CommandResult result = run_command("runs compare 2 1 --store " + path_);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Run 1 against Run 2"));
  EXPECT_THAT(result.out, HasSubstr("-20.0 %"));
}

TEST_F(Compare, NamesARunThatIsNotThere) {
  const CommandResult result = run_command("compare 1 9 --store " + path_);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no run 9"));
}

TEST_F(Compare, TakesTwoRuns) {
  EXPECT_EQ(run_command("compare 1 --store " + path_).exit_code, 2);
  EXPECT_EQ(run_command("compare 1 2 3 --store " + path_).exit_code, 2);
}

}  // namespace
}  // namespace roofcast::test

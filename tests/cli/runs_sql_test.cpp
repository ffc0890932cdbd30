// roofcast runs --sql, and the rows that simulate stores for such queries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RunsSql : public testing::Test {
 protected:
  RunsSql() {
    run_command(
        "simulate --model llama-3.1-8b --gpu h100 --num-prompts 5 --request-rate 1 --store s.db");
  }

  /// The SQL goes through a file, because run_command splits its line at spaces.
  static CommandResult ask(const std::string& sql, const std::string& more = "") {
    std::ofstream("query.sql") << sql;
    return run_command("runs --store s.db --sql @query.sql " + more);
  }

  const TemporaryFolder folder_;
};

TEST_F(RunsSql, ColumnNamesAreTitlesAndNothingStandsForNull) {
  EXPECT_EQ(ask("SELECT 7 AS n, NULL AS x, 'a,b' AS t, 1234567.5 AS y", "-o csv").out,
            "n,x,t,y\n7,,\"a,b\",1234567.5\n");
  EXPECT_EQ(ask("SELECT 7 AS n, NULL AS absent, 'a' AS t").out,
            "n  absent  t\n-  ------  -\n7          a\n");
}

// A terminal would obey them, and the page has the same rule.
TEST_F(RunsSql, NamesOfRunsHaveNoControlCharactersAndAreShort) {
  for (const std::string& name :
       {std::string("a\x1b[2J"), std::string("a\xc2\x9b") + "2J", std::string("a\x7f"),
        std::string("\xff"), std::string(81, 'a')}) {
    const CommandResult refused = run_command("runs 1 --store s.db --name " + name);
    EXPECT_EQ(refused.exit_code, 2) << name.size();
    EXPECT_THAT(refused.err, HasSubstr("--name: expected at most 80 bytes of UTF-8 text"));
  }
  // U+00E9 is C3 A9, U+00A0 is C2 A0: no control characters.
  EXPECT_EQ(
      run_command("runs 1 --store s.db --name \xc3\xa9\xc2\xa0" + std::string(76, 'a')).exit_code,
      0);
  EXPECT_THAT(run_command("runs 1 --store s.db --name ''").err, HasSubstr("no longer has a name"));
}

TEST_F(RunsSql, NumbersAreRawInJson) {
  const auto json = nlohmann::json::parse(
      ask("SELECT 9007199254740993 AS n, 0.1 AS x, NULL AS x, 1e999 AS y", "-o json").out);
  EXPECT_EQ(json["columns"], (std::vector<std::string>{"n", "x", "x_2", "y"}));
  EXPECT_EQ(json["rows"][0]["n"], 9007199254740993);  // 2^53 + 1: no double holds it
  EXPECT_EQ(json["rows"][0]["x"], 0.1);
  EXPECT_TRUE(json["rows"][0]["x_2"].is_null());
  EXPECT_TRUE(json["rows"][0]["y"].is_null());  // JSON has no infinity
  EXPECT_EQ(json["more"], false);
}

TEST_F(RunsSql, ASimulationKeepsWhatItCosts) {
  // The profile of an H100 says 4.50 $/h (hardware_profiles/nvidia-h100-sxm.json).
  const auto json = nlohmann::json::parse(
      ask("SELECT cost_usd_per_h AS h, cost_usd_per_million_output_tokens AS m, "
          "output_tokens_per_s AS rate FROM run_summary",
          "-o json")
          .out);
  EXPECT_EQ(json["rows"][0]["h"], 4.5);
  const double rate = json["rows"][0]["rate"];
  EXPECT_NEAR(json["rows"][0]["m"], 4.5 / 3600 / rate * 1e6, 1e-9);
}

TEST_F(RunsSql, TheTextMayComeFromStandardInput) {
  std::istringstream text("SELECT count(*) AS runs FROM runs");
  std::streambuf* before = std::cin.rdbuf(text.rdbuf());
  const CommandResult result = run_command("runs --store s.db --sql - -o csv");
  std::cin.rdbuf(before);
  EXPECT_EQ(result.out, "runs\n1\n");
}

TEST_F(RunsSql, RowsLeftOutAreSaid) {
  const CommandResult result = ask("VALUES (1), (2), (3)", "--max-rows 2 -o csv");
  EXPECT_EQ(result.out, "column1\n1\n2\n");
  EXPECT_THAT(result.err, StartsWith("only the first 2 rows: there are more"));
}

TEST_F(RunsSql, MisuseIsOneLine) {
  for (const auto& [result, about] :
       {std::pair{ask("DROP TABLE runs"), "read-only"},
        {ask("SELEC"), "syntax error"},
        {ask("SELECT 1", "1"), "no ID"},
        {run_command("runs --store s.db --max-rows 3"), "--max-rows: needs --sql"},
        {run_command("runs --store s.db --sql ''"), "no statement"}}) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(about));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  }
  EXPECT_THAT(run_command("runs --store s.db --sql @nowhere.sql").err,
              HasSubstr("nowhere.sql: cannot be read"));
}

}  // namespace
}  // namespace roofcast::test

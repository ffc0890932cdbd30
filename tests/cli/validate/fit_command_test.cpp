// `roofcast fit` as users run it, on runs whose host terms are known because they were simulated
// with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr double kPerRequest = 0.006;
constexpr double kGraphLaunch = 0.0007;

json scenario_at(double request_rate) {
  return {{"model", "llama-3.1-8b"},
          {"gpu", "h100"},
          {"engine", "vllm-0.19"},
          // Else a constant millisecond of each first token hides what is planted.
          {"engine_options", {{"skip_tokenizer_init", true}}},
          {"workload",
           {{"type", "synthetic"},
            {"num_prompts", 30},
            {"request_rate", request_rate},
            {"input_len", 256},
            {"output_len", 32}}}};
}

/// Measured runs of an engine with planted terms, in the test's working directory.
class Fit : public testing::Test {
 protected:
  Fit() {
    std::ofstream("planted.json") << json{
        {"schema_version", 1},
        {"kind", "engine"},
        {"name", "planted"},
        {"preset", "vllm-0.19"},
        {"host", {{"per_request_s", kPerRequest}, {"graph_launch_s", kGraphLaunch}}}};
    json cases = json::array();
    for (const double rate : {1.0, 4.0, 16.0}) {
      json planted = scenario_at(rate);
      planted["engine"] = "planted.json";
      std::ofstream("s.json") << planted;
      const json run = json::parse(run_command("simulate s.json --no-store -o json").out);
      json measured;
      for (const char* metric : {"ttft_s", "tpot_s", "e2e_s"}) {
        measured[metric]["mean"] = run[metric]["mean"];
      }
      cases.push_back({{"name", "at " + std::to_string(rate)},
                       {"scenario", scenario_at(rate)},
                       {"measured", measured}});
    }
    manifest_ = {{"schema_version", 1}, {"cases", cases}};
  }

  CommandResult fit(const std::string& options = "--out engine.json") const {
    std::ofstream("m.json") << manifest_;
    return run_command("fit m.json " + options);
  }

  json manifest_;

 private:
  TemporaryFolder folder_;
};

const json& term(const json& answer, const std::string& name) {
  for (const json& one : answer["terms"]) {
    if (one["name"] == name) return one;
  }
  throw std::runtime_error("no term " + name);
}

TEST_F(Fit, FindsThePlantedTermsAndValidatesWithThem) {
  const CommandResult result = fit("--out engine.json --name ours -o json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answer = json::parse(result.out);
  // Within five standard errors of the fit's own.
  for (const auto& [name, planted] :
       {std::pair{"per_request_s", kPerRequest}, std::pair{"graph_launch_s", kGraphLaunch}}) {
    const json& fitted = term(answer, name);
    ASSERT_TRUE(fitted["identified"]) << name;
    EXPECT_NEAR(fitted["value"], planted, 5 * fitted["standard_error"].get<double>()) << name;
  }
  EXPECT_GT(answer["errors"]["preset"]["median"], 0.05);
  // The figures were made by the same simulator: what is left is what the search leaves.
  EXPECT_LT(answer["errors"]["fitted"]["p90"], 0.01);
  for (json& one : manifest_["cases"]) one["scenario"]["engine"] = "engine.json";
  std::ofstream("m.json") << manifest_;
  const CommandResult validated = run_command("validate m.json --threshold 1% -o json");
  EXPECT_EQ(validated.exit_code, 0) << validated.out << validated.err;
  EXPECT_THAT(validated.out, HasSubstr("ours"));
}

TEST_F(Fit, SaysWhichTermsTheRunsDoNotTell) {
  const json answer = json::parse(fit("--out engine.json -o json").out);
  // Steps of some 6 ms on the device hide 0.3 ms of scheduling.
  EXPECT_EQ(term(answer, "step_base_s")["identified"], false);
  EXPECT_EQ(term(answer, "step_base_s")["reason"], "does not affect any figure of these runs");
}

TEST_F(Fit, LearnsOnlyTheTermsAskedFor) {
  const json answer = json::parse(fit("--out engine.json --terms per_request_s -o json").out);
  ASSERT_EQ(answer["terms"].size(), 1U);
  EXPECT_EQ(answer["terms"][0]["name"], "per_request_s");
}

TEST_F(Fit, OneRunSaysNothingOfOthers) {
  const json whole = json::parse(fit("--out engine.json -o json").out);
  ASSERT_EQ(whole["metrics"].size(), 3U);
  EXPECT_EQ(whole["metrics"][0]["figures"], 3);
  EXPECT_LT(whole["metrics"][0]["leave_one_run_out_mape"], whole["metrics"][0]["preset_mape"]);
  EXPECT_THAT(fit().out, Not(HasSubstr("do not improve")));

  manifest_["cases"] = json::array({manifest_["cases"][0]});
  const json one = json::parse(fit("--out engine.json -o json").out);
  EXPECT_TRUE(one["errors"]["leave_one_run_out"].is_null());
  EXPECT_TRUE(one["metrics"][0]["leave_one_run_out_mape"].is_null());
  EXPECT_FALSE(json::parse(std::ifstream("engine.json")).contains("median_error"));
  const std::string text = fit().out;
  EXPECT_THAT(text, HasSubstr("No run can be left out"));
  EXPECT_THAT(text, Not(HasSubstr("leave one run out ")));
}

TEST_F(Fit, TermsThatHelpNoOtherRunAreSaidTo) {
  // Two runs of the same load that contradict each other by as much as they err: the preset's terms
  // lie between them, and what either says is wrong for the other.
  const json planted = manifest_["cases"][1];
  manifest_["cases"] = {planted, planted};
  std::ofstream("s.json") << planted["scenario"];
  const json preset = json::parse(run_command("simulate s.json --no-store -o json").out);
  for (const char* metric : {"ttft_s", "tpot_s", "e2e_s"}) {
    const double value = preset[metric]["mean"];
    manifest_["cases"][0]["measured"][metric]["mean"] = 0.8 * value;
    manifest_["cases"][1]["measured"][metric]["mean"] = 1.2 * value;
  }
  EXPECT_THAT(fit().out, HasSubstr("do not improve on the terms of vllm-0.19"));
}

TEST_F(Fit, TokenRatesTellOfHostTimeOnlyWhereTheServerDecidesThem) {
  manifest_["cases"][0]["measured"]["output_tokens_per_s"] = 100;
  const auto metrics = [&] {
    return json::parse(fit("--out engine.json -o json").out)["fitted_metrics"].dump();
  };
  EXPECT_THAT(metrics(), Not(HasSubstr("output_tokens_per_s")));
  manifest_["cases"][0]["scenario"]["workload"]["request_rate"] = "inf";
  EXPECT_THAT(metrics(), HasSubstr("output_tokens_per_s"));
}

TEST_F(Fit, CasesOfTwoEnginesAreNotMixed) {
  manifest_["cases"][1]["scenario"]["engine"] = "vllm-0.11";
  const CommandResult result = fit();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("two engines"));
  EXPECT_EQ(fit("--out engine.json --engine vllm-0.11").exit_code, 0);
}

TEST_F(Fit, ACaseThatCannotBePredictedIsLeftOutWithItsReason) {
  manifest_["cases"][0]["scenario"]["model"] = "no-such-model";
  const CommandResult result = fit("--out engine.json -o json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answer = json::parse(result.out);
  ASSERT_EQ(answer["left_out"].size(), 1U);
  EXPECT_THAT(answer["left_out"][0]["reason"].get<std::string>(), HasSubstr("no-such-model"));
  EXPECT_EQ(answer["runs"], 2);
}

TEST_F(Fit, MisuseIsSaidInOneLine) {
  EXPECT_EQ(run_command("fit --out e.json").exit_code, 2);
  EXPECT_EQ(fit("--out engine").exit_code, 2);
  EXPECT_THAT(fit("--out e.json --terms per_reqest_s").err, HasSubstr("per_request_s"));
  EXPECT_EQ(fit("--out m.json").exit_code, 2);
}

}  // namespace
}  // namespace roofcast::test

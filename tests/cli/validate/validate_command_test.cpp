// `roofcast validate` as a user runs it, on manifests written here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/shell/program_facts.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Two cases, one of them with an answer, in the test's working directory.
class Validate : public testing::Test {
 protected:
  Validate() {
    const json scenario = {
        {"model", "llama-3.1-8b"},
        {"gpu", "h100"},
        {"workload",
         {{"type", "synthetic"}, {"num_prompts", 20}, {"request_rate", 4}, {"output_len", 16}}}};
    json unknown = scenario;
    unknown["model"] = "no-such-model";
    manifest_ = {
        {"schema_version", 1},
        {"cases",
         {{{"name", "served"},
           {"group", "a group"},
           {"scenario", scenario},
           {"measured", {{"tpot_s", {{"mean", 0.007}}}, {"kv_blocks", 1000}}}},
          {{"name", "unknown"}, {"scenario", unknown}, {"measured", {{"kv_blocks", 1}}}}}}};
  }

  CommandResult validate(const std::string& options = "") const {
    std::ofstream("m.json") << manifest_;
    return run_command("validate m.json " + options);
  }

  /// The simulated answer of the first case.
  json simulated() const {
    std::ofstream("s.json") << manifest_["cases"][0]["scenario"];
    return json::parse(run_command("simulate s.json --no-store -o json").out);
  }

  json manifest_;

 private:
  TemporaryFolder folder_;
};

TEST_F(Validate, AStageOfTheLoadIsComparedByItself) {
  json& first = manifest_["cases"][0];
  first["scenario"]["workload"] = {
      {"type", "synthetic"},
      {"output_len", 16},
      {"stages", {{{"rate", 1}, {"duration_s", 10}}, {{"rate", 40}, {"duration_s", 5}}}}};
  first["measured"] = {{"tpot_s", {{"mean", 0.007}}}};
  manifest_["cases"].erase(1);
  const auto predicted = [&] {
    const json answer = json::parse(validate("--no-store -o json").out);
    return answer["cases"][0]["figures"][0]["predicted"].get<double>();
  };
  const json whole = simulated();
  EXPECT_EQ(predicted(), whole["tpot_s"]["mean"].get<double>());
  for (const std::size_t stage : {1U, 2U}) {
    first["stage"] = stage;
    EXPECT_EQ(predicted(), whole["stages"][stage - 1]["tpot_s"]["mean"].get<double>());
  }
  EXPECT_LT(whole["stages"][0]["tpot_s"]["mean"], whole["stages"][1]["tpot_s"]["mean"]);

  first["stage"] = 3;
  const json beyond = json::parse(validate("--no-store -o json").out);
  EXPECT_EQ(beyond["answered"], 0);
  EXPECT_THAT(beyond["cases"][0]["reason"].get<std::string>(),
              HasSubstr("stage 3 was measured, but the load has only 2"));
  first["stage"] = 1;
  first["ask"] = "memory";
  const json memory = json::parse(validate("--no-store -o json").out);
  EXPECT_THAT(memory["cases"][0]["reason"].get<std::string>(), HasSubstr("no such key unless"));
}

TEST_F(Validate, PutsWhatSimulateSaysBesideWhatWasMeasured) {
  const CommandResult result = validate("-o json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answer = json::parse(result.out);
  const json& figures = answer["cases"][0]["figures"];
  ASSERT_EQ(figures.size(), 2U);
  const json simulation = simulated();
  EXPECT_EQ(figures[0]["name"], "kv_blocks");
  EXPECT_EQ(figures[0]["predicted"], simulation["engine"]["kv_blocks"]);
  EXPECT_EQ(figures[0]["covered"], false);
  EXPECT_EQ(figures[1]["name"], "tpot_s");
  EXPECT_EQ(figures[1]["predicted"], simulation["tpot_s"]["mean"]);
  EXPECT_LT(figures[1]["interval_low"], figures[1]["predicted"]);
  EXPECT_GT(figures[1]["interval_high"], figures[1]["predicted"]);
  EXPECT_EQ(answer["cases"][0]["engine"], "vllm-0.19");
}

TEST_F(Validate, ACaseWithoutAnAnswerIsARowWithItsReason) {
  const CommandResult result = validate();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Not predicted"));
  EXPECT_THAT(result.out, HasSubstr("'no-such-model' is not a file"));
  EXPECT_THAT(result.out, HasSubstr("1 of 2 cases predicted, 1 not"));
}

TEST_F(Validate, NoAnswerAtAllFails) {
  manifest_["cases"].erase(0);
  EXPECT_EQ(validate().exit_code, 1);
}

TEST_F(Validate, AThresholdPassesOnlyWhatItJudged) {
  const CommandResult half = validate("--threshold kv_blocks=1e6%");  // one of two cases
  EXPECT_EQ(half.exit_code, 1);
  EXPECT_THAT(half.out, Not(HasSubstr("within its threshold")));
  manifest_["cases"].erase(1);
  EXPECT_THAT(validate("--threshold 1e6%").out, HasSubstr("Every metric is within its threshold"));
  const CommandResult none = validate("--threshold 1e6% queue_s=1% tpot_s:p99=1e6%");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.out, HasSubstr("Not judged: no case has a figure of queue_s to compare."));
  EXPECT_THAT(none.out, HasSubstr("Not judged: no case has a figure of tpot_s p99 to compare."));
  const json answer = json::parse(validate("-o json --no-store --threshold queue_s=1%").out);
  EXPECT_EQ(answer["unjudged"][0]["name"], "queue_s");
}

TEST_F(Validate, PastTheThresholdTheAnswerIsNo) {
  manifest_["cases"].erase(1);
  EXPECT_EQ(validate("--threshold kv_blocks=1e6%").exit_code, 0);
  const CommandResult result = validate("--threshold kv_blocks=10%");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("Above the threshold: kv_blocks"));
}

TEST_F(Validate, TheLedgerStandsInsteadOfTheCases) {
  const CommandResult result = validate("--ledger");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("All cases"));
  EXPECT_THAT(result.out, HasSubstr("MAPE"));
  EXPECT_THAT(result.out, Not(HasSubstr("served")));
}

TEST_F(Validate, PartsStandBesideEachOtherAndKeysMakeALedger) {
  const std::string by_keys = validate("--by version,tp").out;
  EXPECT_THAT(by_keys, HasSubstr("By version, tp"));
  const std::string parts = validate("--decisions --versions").out;
  EXPECT_THAT(parts, HasSubstr("No choices: no model and load was measured on two deployments."));
  EXPECT_THAT(parts, HasSubstr("No setting was measured on two dates"));
  EXPECT_EQ(validate("--price h100").exit_code, 2);
}

TEST_F(Validate, IsTheSameEveryTime) {
  EXPECT_EQ(validate("-o json").out, validate("-o json").out);
}

TEST_F(Validate, BothSidesAreKeptAndCanBeCompared) {
  const CommandResult result = validate("--store runs.db");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 case stored in runs.db"));
  // The measured side comes first.
  const json compared = json::parse(run_command("compare 1 2 --store runs.db -o json").out);
  EXPECT_EQ(compared["a"]["kind"], "measured");
  EXPECT_EQ(compared["b"]["kind"], "validate");
  EXPECT_EQ(validate("--no-store").err, "");
}

TEST_F(Validate, ThePlotHasAPanelAMetricAndWritesOverNothingThatIsRead) {
  manifest_["cases"][1] = manifest_["cases"][0];  // one group alone has no legend
  manifest_["cases"][1]["group"] = "another";
  EXPECT_EQ(validate("--no-store --plot p.svg").exit_code, 0);
  EXPECT_THAT(text_in("p.svg"), testing::AllOf(HasSubstr("KV blocks"), HasSubstr("TPOT mean"),
                                               HasSubstr(">a group<")));
  EXPECT_EQ(validate("--no-store --plot m.json").exit_code, 2);
}

TEST_F(Validate, AStepIsTheEstimateOfItsBatch) {
  manifest_["cases"] = {{{"ask", "step"},
                         {"step", {{"decode_sequences", 32}, {"decode_context_tokens", 32 * 1000}}},
                         {"scenario", {{"model", "llama-3.1-8b"}, {"gpu", "h100"}}},
                         {"measured", {{"step_s", 0.01}}}}};
  const json answer = json::parse(validate("-o json").out);
  // A generation of one token after a prompt of 1000 is one decode step at that context.
  const json estimate = json::parse(
      run_command("estimate --model llama-3.1-8b --gpu h100 --batch 32 --isl 1000 --osl 2 -o json")
          .out);
  EXPECT_NEAR(answer["cases"][0]["figures"][0]["predicted"].get<double>(),
              estimate["decode_step_s"].get<double>(), 1e-6);
}

/// A result in the form of `vllm bench serve --save-result --save-detailed`, with invented figures.
constexpr const char* kResult = R"({"endpoint_type": "vllm", "model_id": "llama-3.1-8b",
    "num_prompts": 2, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": null,
    "duration": 0.2, "completed": 2, "total_input_tokens": 300, "total_output_tokens": 8,
    "request_throughput": 10.0, "output_throughput": 40.0, "total_token_throughput": 1540.0,
    "mean_ttft_ms": 20.0, "mean_tpot_ms": 7.0, "mean_itl_ms": 7.0,
    "input_lens": [100, 200], "output_lens": [4, 4], "start_times": [5.0, 5.05],
    "ttfts": [0.02, 0.02], "itls": [[0.007, 0.007, 0.007], [0.007, 0.007, 0.007]]})";

TEST_F(Validate, AResultFileIsReplayedOnWhatTheFlagsSay) {
  std::ofstream("bench.json") << kResult;
  const CommandResult result = run_command("validate bench.json --gpu h100 -o json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answer = json::parse(result.out)["cases"][0];
  std::ofstream("trace.csv") << "arrival_s,input_tokens,output_tokens\n0,100,4\n0.05,200,4\n";
  const json simulation = json::parse(
      run_command("simulate --model llama-3.1-8b --gpu h100 --trace trace.csv --no-store -o json")
          .out);
  const auto& figures = answer["figures"];
  const auto ttft = std::find_if(figures.begin(), figures.end(), [](const json& figure) {
    return figure["name"] == "ttft_s" && figure["statistic"] == "mean";
  });
  ASSERT_NE(ttft, figures.end());
  EXPECT_EQ((*ttft)["measured"], 0.02);
  EXPECT_EQ((*ttft)["predicted"], simulation["ttft_s"]["mean"]);
}

TEST_F(Validate, AManifestNamesAResultFileAndCompletesIt) {
  std::ofstream("bench.json") << kResult;
  manifest_["cases"] = {{{"scenario", {{"gpu", "h100"}}}, {"measured", {{"file", "bench.json"}}}}};
  const CommandResult by_manifest = validate("-o json");
  ASSERT_EQ(by_manifest.exit_code, 0) << by_manifest.err;
  const CommandResult by_flags = run_command("validate bench.json --gpu h100 -o json");
  EXPECT_EQ(json::parse(by_manifest.out)["cases"][0]["figures"],
            json::parse(by_flags.out)["cases"][0]["figures"]);
}

TEST_F(Validate, WhatAResultDoesNotSayIsAskedFor) {
  std::ofstream("bench.json") << kResult;
  const CommandResult result = run_command("validate bench.json");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("does not state its gpu, expected --gpu"));
  EXPECT_EQ(run_command("validate bench.json --meta gpu=h100").exit_code, 0);
}

/// Tries values until one has the flag's type: one of each kind.
bool is_refused_as_idle(const std::string& flag, const std::string& manifest) {
  for (const char* value : {"", " 1", " fp8", " fcfs", " ngram", " 0.5,0.5", " gpu=a100",
                            " vllm-bench-serve", " max_utilization", " equal_progress", " plain",
                            " max", " deepep", " lmcache", " cutlass", " deep_gemm", " round_robin",
                            " nvlink4", " '{\"method\":\"eagle\",\"num_speculative_tokens\":3}'"}) {
    const CommandResult result = run_command("validate " + manifest + " " + flag + value);
    if (result.exit_code == 0) return false;
    if (result.err.find("is a manifest, which already states") != std::string::npos) return true;
  }
  return false;
}

TEST_F(Validate, FlagsThatAManifestSaysAreMisuse) {
  manifest_["cases"] = {{{"ask", "memory"},
                         {"scenario", {{"model", "llama-3.1-8b"}, {"gpu", "h100"}}},
                         {"measured", {{"kv_blocks", 27000}}}}};
  std::ofstream("m.json") << manifest_;
  const std::vector<std::string> own = {"file",     "ledger", "by",        "decisions", "price",
                                        "versions", "plot",   "threshold", "store",     "no-store",
                                        "follow",   "every",  "output",    "color",     "help",
                                        "help-all", "format"};
  std::size_t tried = 0;
  for (const CommandFacts& command : program_facts()) {
    if (command.name != "validate") continue;
    for (const OptionFacts& option : command.options) {
      if (std::find(own.begin(), own.end(), option.name) != own.end()) continue;
      EXPECT_TRUE(is_refused_as_idle("--" + option.name, "m.json")) << option.name;
      ++tried;
    }
  }
  EXPECT_GT(tried, 30U);
  EXPECT_EQ(run_command("validate m.json -tp 2").exit_code, 2);
}

TEST_F(Validate, WhatIsNeitherManifestNorResultIsCalledSo) {
  for (const std::string text : {"", "{}", "[]", "null", "words", "[[[[", "0"}) {
    std::ofstream("x.json") << text;
    const CommandResult result = run_command("validate x.json --model llama-3.1-8b --gpu h100");
    EXPECT_EQ(result.exit_code, 1) << text;
    EXPECT_THAT(result.err, HasSubstr("x.json")) << text;
    EXPECT_THAT(result.err, Not(HasSubstr("which already states what its cases ran on"))) << text;
  }
}

TEST_F(Validate, ABrokenFileAmongOthersIsACaseAndFails) {
  std::filesystem::create_directory("runs");
  std::ofstream("runs/a.json") << kResult;
  std::ofstream("runs/b.json") << std::string(kResult).substr(0, 200);
  std::ofstream("runs/c.json") << kResult;
  for (const char* files : {"runs", "runs/a.json runs/b.json runs/c.json"}) {
    const CommandResult result =
        run_command(std::string("validate --gpu h100 --no-store -o json ") + files);
    EXPECT_EQ(result.exit_code, 1);
    const json answer = json::parse(result.out);
    EXPECT_EQ(answer["answered"], 2);
    EXPECT_EQ(answer["unanswered"], 1);
  }
}

TEST_F(Validate, TheIntervalOfAMemoryPlanIsItsOwnUncertainty) {
  manifest_["cases"] = {{{"ask", "memory"},
                         {"scenario", {{"model", "llama-3.1-8b"}, {"gpu", "h100"}}},
                         {"measured", {{"kv_blocks", 27000}}}}};
  const json figure = json::parse(validate("-o json").out)["cases"][0]["figures"][0];
  const json plan = json::parse(run_command("memory --model llama-3.1-8b --gpu h100 -o json").out);
  EXPECT_EQ(figure["predicted"], plan["kv_blocks"]);
  // The 0.9 quantile of the normal distribution, of the logarithm.
  const double factor = std::exp(1.2816 * plan["relative_uncertainty"].get<double>());
  const double blocks = plan["kv_blocks"];
  EXPECT_NEAR(figure["interval_low"].get<double>(), blocks / factor, 1e-6 * blocks);
  EXPECT_NEAR(figure["interval_high"].get<double>(), blocks * factor, 1e-6 * blocks);
}

TEST_F(Validate, MisuseIsNamed) {
  EXPECT_EQ(run_command("validate").exit_code, 2);
  EXPECT_EQ(validate("--threshold much").exit_code, 2);
  const CommandResult result = validate("--threshold ttft=10%");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'ttft_s'"));
  EXPECT_EQ(run_command("validate absent.json").exit_code, 1);
}

}  // namespace
}  // namespace roofcast::test

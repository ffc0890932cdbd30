#include "validate/validate_manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.hpp"
#include "simulator/workload/synthetic.hpp"
#include "tests/support/run_command.hpp"
#include "validate/case_keys.hpp"
#include "validate/measured_case.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

constexpr const char* kScenario =
    R"({"model": "llama-3.1-8b", "gpu": "h100", "workload": {"type": "synthetic"}})";

/// Files of a test, in the folder that is current while it runs.
class Manifest : public testing::Test {
 protected:
  static void write(const std::string& name, const std::string& text) {
    std::ofstream(name) << text;
  }

  /// The cases of a manifest with these in its list.
  static std::vector<ValidationCase> cases_of(const std::string& cases,
                                              const std::string& defaults = "{}") {
    write("m.json",
          R"({"schema_version": 1, "defaults": )" + defaults + R"(, "cases": [)" + cases + "]}");
    return read_manifest("m.json").cases;
  }

  /// The only case, of this scenario, with these measured figures.
  static ValidationCase measured(const std::string& figures) {
    return cases_of(std::string(R"({"scenario": )") + kScenario + R"(, "measured": )" + figures +
                    "}")
        .at(0);
  }

  static std::string refusal(const std::string& text) {
    write("m.json", text);
    try {
      read_manifest("m.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Manifest, FiguresAreInTheUnitOfTheirNameOrInOneOfTheirOwn) {
  const ValidationCase one =
      measured(R"({"ttft_s": {"mean": 0.0578, "p90": "63.9 ms"}, "kv_blocks": 2588,
                   "output_tokens_per_s": "27147.2"})");
  ASSERT_EQ(one.problem, "");
  // Objects are read in the order of their keys' letters.
  ASSERT_EQ(one.measured.metrics.size(), 4U);
  EXPECT_EQ(one.measured.metrics[0].name, "kv_blocks");
  EXPECT_EQ(one.measured.metrics[0].statistic, "value");
  EXPECT_EQ(one.measured.metrics[0].value, 2588);
  EXPECT_DOUBLE_EQ(one.measured.metrics[1].value, 27147.2);
  EXPECT_EQ(one.measured.metrics[2].statistic, "mean");
  EXPECT_DOUBLE_EQ(one.measured.metrics[2].value, 0.0578);
  EXPECT_DOUBLE_EQ(one.measured.metrics[3].value, 0.0639);
}

TEST_F(Manifest, AFigureThatCannotBeReadIsTheCasesProblemAndNamesItsKey) {
  EXPECT_THAT(measured(R"({"ttft": {"mean": 1}})").problem,
              HasSubstr("m.json: cases[0].measured.ttft: unknown metric, did you mean 'ttft_s'"));
  EXPECT_THAT(measured(R"({"ttft_s": 0.05})").problem, HasSubstr("expected its statistics"));
  EXPECT_THAT(measured(R"({"ttft_s": {"p91": 1}})").problem, HasSubstr("ttft_s.p91"));
  EXPECT_THAT(measured(R"({"ttft_s": {"mean": -1}})").problem, HasSubstr("at least 0"));
  EXPECT_THAT(measured(R"({"ttft_s": {"mean": "5 parsecs"}})").problem, HasSubstr("ttft_s.mean"));
  EXPECT_THAT(measured("{}").problem, HasSubstr("has no metric"));
  EXPECT_THAT(measured("[]").problem, HasSubstr("expected an object"));
}

TEST_F(Manifest, DefaultsAreMergedUnderEveryCase) {
  const auto cases = cases_of(
      R"({"scenario": {"parallel": {"tensor": 2}}}, {"scenario": {"gpu": "h200", "seed": null}})",
      std::string(R"({"group": "g", "measured": {"kv_blocks": 1}, "scenario": )") +
          R"({"model": "gpt2", "gpu": "h100", "seed": 7, "workload": {"type": "synthetic"}}})");
  ASSERT_EQ(cases.size(), 2U);
  ASSERT_EQ(cases[0].problem, "");
  EXPECT_EQ(cases[0].scenario.deployment.parallel.tensor, 2);
  EXPECT_EQ(cases[0].scenario.seed, 7U);
  EXPECT_EQ(cases[0].group, "g");
  EXPECT_EQ(cases[1].scenario.deployment.gpu, "h200");
  EXPECT_EQ(cases[1].scenario.seed, 0U);  // null takes the default out (RFC 7396)
}

TEST_F(Manifest, RowsCanBeComputedAndRenamed) {
  write("runs.csv", "isl,conc,tp_size,ms\n1000,24,2,50\n1000,,4,50\n");
  const auto cases = cases_of(R"({"rows": {"file": "runs.csv", "columns": {"tp": "${tp_size}",
                                           "requests": "${= 10 * conc}"}},
      "name": "x${= conc + 1} tp${tp}",
      "scenario": {"model": "llama-3.1-8b", "gpu": "h100", "parallel": {"tensor": "${tp}"},
                   "workload": {"type": "synthetic", "input_len": "${= isl / 2}",
                                "num_prompts": "${requests}"}},
      "measured": {"ttft_s": {"mean": "${= ms / 1000}"}}})");
  ASSERT_EQ(cases.size(), 2U);
  ASSERT_EQ(cases[0].problem, "");
  EXPECT_EQ(cases[0].name, "x25 tp2");
  EXPECT_EQ(cases[0].scenario.deployment.parallel.tensor, 2);
  EXPECT_DOUBLE_EQ(cases[0].measured.metrics.at(0).value, 0.05);
  const auto& load = std::get<SyntheticWorkload>(cases[0].scenario.workload);
  EXPECT_EQ(load.num_prompts, 240);
  EXPECT_EQ(load.input.a, 500);
  EXPECT_EQ(cases[1].name, "x tp4");  // an empty column leaves nothing, also of what is computed
  EXPECT_NE(std::get<SyntheticWorkload>(cases[1].scenario.workload).num_prompts, 240);
}

TEST_F(Manifest, RowsAreChosenByValueListAndRange) {
  write("runs.csv",
        "date,conc\n2025-12-31,4\n2026-01-21,16\n2026-03-01,64\n2026-05-01,128\n,256\n");
  const auto concs = [](const std::string& where) {
    std::string found;
    for (const ValidationCase& one : cases_of(R"({"rows": {"file": "runs.csv", "where": )" + where +
                                              R"(}, "name": "x${conc}", "scenario": )" + kScenario +
                                              R"(, "measured": {"kv_blocks": 5}})")) {
      found += one.name + " ";
    }
    return found;
  };
  EXPECT_EQ(concs(R"({"conc": 16})"), "x16 ");
  EXPECT_EQ(concs(R"({"conc": ["4", 64]})"), "x4 x64 ");
  EXPECT_EQ(concs(R"({"date": {"from": "2026-01-21", "before": "2026-05-01"}})"), "x16 x64 ");
  EXPECT_EQ(concs(R"({"conc": {"above": 16, "to": 128}})"),
            "x64 x128 ");                                            // as numbers, not as text
  EXPECT_EQ(concs(R"({"date": {"to": "2026-01-21"}})"), "x4 x16 ");  // nothing is in no range
  EXPECT_EQ(concs(R"({"conc": {"not": [4, 16, 64]}})"), "x128 x256 ");
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": [{"rows": {"file": "runs.csv",
                          "where": {"conc": {"until": 3}}}}]})"),
              HasSubstr("runs.csv, line 2: where: unknown 'until', expected from"));
}

TEST_F(Manifest, RulesAddToTheRowsThatTheyFitInTheirOrder) {
  write("runs.csv", "gpu,date,tp\nh200,2025-12-01,8\nb200,2026-02-01,4\nb200,2025-12-01,8\n");
  const auto cases = cases_of(
      R"({"rows": {"file": "runs.csv"}, "labels": {"year": "2025", "date": "${date}"},
          "rules": [
            {"where": {"gpu": "b200"}, "scenario": {"engine_options": {"max_num_seqs": 128}}},
            {"where": {"date": {"from": "2026-01-01"}}, "labels": {"year": 2026}, "group": "new",
             "scenario": {"engine_options": {"max_num_seqs": "${= 8 * tp}"}}}],
          "scenario": {"model": "llama-3.1-8b", "gpu": "${gpu}", "workload": {"type": "synthetic"}},
          "measured": {"kv_blocks": 5}})");
  ASSERT_EQ(cases.size(), 3U);
  for (const ValidationCase& one : cases) ASSERT_EQ(one.problem, "");
  EXPECT_EQ(cases[0].scenario.deployment.overrides.max_num_seqs, std::nullopt);
  EXPECT_EQ(cases[1].scenario.deployment.overrides.max_num_seqs, 32);  // the later rule
  EXPECT_EQ(cases[2].scenario.deployment.overrides.max_num_seqs, 128);
  EXPECT_EQ(cases[0].labels.at("year"), "2025");
  EXPECT_EQ(cases[1].labels.at("year"), "2026");
  EXPECT_EQ(cases[1].labels.at("date"), "2026-02-01");
  EXPECT_EQ(cases[1].group, "new");
}

TEST_F(Manifest, ColumnsOfARuleAreThereForTheRulesAfterIt) {
  write("runs.csv", "gpu,tp\nh200,8\nb200,4\n");
  const auto cases = cases_of(
      R"({"rows": {"file": "runs.csv"},
          "rules": [
            {"where": {"gpu": "h200"}, "columns": {"gib": 140, "weights": ""}},
            {"where": {"gpu": "b200"}, "columns": {"gib": 180, "weights": 20}},
            {"where": {}, "columns": {"room": "${= gib * tp - weights}"}},
            {"where": {"room": {"above": 500}}, "group": "large"}],
          "scenario": {"model": "llama-3.1-8b", "gpu": "${gpu}",
                       "engine_options": {"max_num_seqs": "${room}"},
                       "workload": {"type": "synthetic"}},
          "measured": {"kv_blocks": 5}})");
  ASSERT_EQ(cases.size(), 2U);
  for (const ValidationCase& one : cases) ASSERT_EQ(one.problem, "");
  EXPECT_EQ(cases[0].scenario.deployment.overrides.max_num_seqs, std::nullopt);  // empty: no key
  EXPECT_EQ(cases[0].group, "");
  EXPECT_EQ(cases[1].scenario.deployment.overrides.max_num_seqs, 4 * 180 - 20);
  EXPECT_EQ(cases[1].group, "large");
}

TEST_F(Manifest, RulesNeedRowsAndAWhere) {
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": [{"rules": []}]})"),
              HasSubstr("cases[0].rules"));
  write("runs.csv", "a\n1\n");
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": [{"rows": {"file": "runs.csv"},
                          "rules": [{"group": "g"}]}]})"),
              HasSubstr("cases[0].rules[0].where is missing"));
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": [{"rows": {"file": "runs.csv"},
                          "rules": [{"where": {}, "rows": {}}]}]})"),
              HasSubstr("rows"));
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": [{"rows": {"file": "runs.csv"},
                          "rules": [{"where": {}, "columns": 3}]}]})"),
              HasSubstr("cases[0].rules[0].columns"));
}

TEST_F(Manifest, ALabelIsAText) {
  const auto label = [](const std::string& labels) {
    return cases_of(R"({"labels": )" + labels + R"(, "scenario": )" + kScenario +
                    R"(, "measured": {"kv_blocks": 5}})")
        .at(0);
  };
  EXPECT_EQ(label(R"({"a": 2, "b": true})").labels.at("b"), "true");
  EXPECT_THAT(label(R"({"a": [1]})").problem, HasSubstr("labels"));
  EXPECT_THAT(label(R"("a")").problem, HasSubstr("labels"));
}

TEST_F(Manifest, KeysOfACaseAreItsLabelsShortNamesAndTheScenario) {
  const auto cases = cases_of(
      R"({"labels": {"family": "Llama", "tp": "mine"},
          "scenario": {"model": "llama-3.1-8b", "gpu": "h100", "engine": "sglang-0.5.9",
                       "quantization": "fp8", "parallel": {"tensor": 2, "data": 4},
                       "engine_options": {"max_num_seqs": 64}, "max_concurrency": 16,
                       "workload": {"type": "synthetic", "input_len": 100, "output_len": 200}},
          "measured": {"kv_blocks": 5}})");
  ASSERT_EQ(cases.at(0).problem, "");
  const std::map<std::string, std::string> keys = keys_of(cases[0]);
  EXPECT_EQ(keys.at("family"), "Llama");
  EXPECT_EQ(keys.at("tp"), "mine");  // a label counts before all else
  EXPECT_EQ(keys.at("dp"), "4");
  EXPECT_EQ(keys.at("gpus"), "8");
  EXPECT_EQ(keys.at("version"), "sglang-0.5.9");
  EXPECT_EQ(keys.at("engine_name"), "sglang");
  EXPECT_EQ(keys.at("dtype"), "fp8");
  EXPECT_EQ(keys.at("load"), "100/200");
  EXPECT_EQ(keys.at("workload"), "100/200");
  EXPECT_EQ(keys.at("conc"), "16");
  EXPECT_EQ(keys.at("engine_options.max_num_seqs"), "64");
  EXPECT_EQ(keys.at("parallel.tensor"), "2");
}

TEST_F(Manifest, EveryRowOfATableIsACase) {
  write("runs.csv",
        "engine,gpu,tp,osl,ttft_ms,note\n"
        "vllm,h100,1,128,50.5,\n"
        "trtllm,h100,1,128,40,\n"
        "vllm,h200,4,256,,slow\n");
  const auto cases = cases_of(R"({"rows": {"file": "runs.csv", "where": {"engine": "vllm"}},
      "name": "${gpu} x${tp}", "source": "${note}",
      "scenario": {"model": "llama-3.1-8b", "gpu": "${gpu}", "parallel": {"tensor": "${tp}"},
                   "workload": {"type": "synthetic", "output_len": "${osl}"}},
      "measured": {"kv_blocks": 5, "ttft_s": {"mean": "${ttft_ms} ms"}}})");
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].name, "h100 x1");
  EXPECT_EQ(cases[0].problem, "");
  EXPECT_EQ(cases[0].scenario.deployment.parallel.tensor, 1);
  EXPECT_EQ(cases[0].source, "");
  EXPECT_DOUBLE_EQ(cases[0].measured.metrics.at(1).value, 0.0505);
  EXPECT_EQ(cases[1].name, "h200 x4");
  EXPECT_EQ(cases[1].source, "slow");
  EXPECT_THAT(cases[1].problem, HasSubstr("ttft_s.mean"));  // " ms" is not a time
}

TEST_F(Manifest, RowsOfJsonAreReachedByDotsAndEmptyOnesLeaveTheirKeyOut) {
  write("runs.json", R"([{"tp": "2", "util": "", "stages": {"-1": {"ttft": [0.5, 0.25]}}}])");
  const auto cases = cases_of(R"({"rows": {"file": "runs.json"},
      "scenario": {"model": "llama-3.1-8b", "gpu": "h100", "parallel": {"tensor": "${tp}"},
                   "engine_options": {"gpu_memory_utilization": "${util}"},
                   "workload": {"type": "synthetic"}},
      "measured": {"ttft_s": {"mean": "${stages.-1.ttft.1}"}}})");
  ASSERT_EQ(cases.at(0).problem, "");
  EXPECT_EQ(cases[0].scenario.deployment.parallel.tensor, 2);
  EXPECT_EQ(cases[0].scenario.deployment.overrides.gpu_memory_utilization, std::nullopt);
  EXPECT_EQ(cases[0].measured.metrics.at(0).value, 0.25);
}

TEST_F(Manifest, AColumnThatIsNotThereIsNamedWithThoseThatAre) {
  write("runs.csv", "a,b\n1,2\n");
  const auto cases = cases_of(R"({"rows": {"file": "runs.csv"}, "name": "${c}"})");
  EXPECT_THAT(cases.at(0).problem, HasSubstr("runs.csv, line 2: has no 'c', only a, b"));
  EXPECT_THAT(cases_of(R"({"rows": {"file": "runs.csv"}, "name": "${a"})").at(0).problem,
              HasSubstr("no closing brace"));
}

TEST_F(Manifest, ABrokenTableEndsTheRun) {
  write("runs.csv", "a,b\n1\n");
  EXPECT_THROW(cases_of(R"({"rows": {"file": "runs.csv"}})"), Error);
  EXPECT_THROW(cases_of(R"({"rows": {"file": "absent.csv"}})"), Error);
  EXPECT_THROW(cases_of(R"({"rows": {}})"), Error);
  write("runs.json", "{}");
  EXPECT_THROW(cases_of(R"({"rows": {"file": "runs.json"}})"), Error);
  write("runs.json", "[1, 2");
  EXPECT_THROW(cases_of(R"({"rows": {"file": "runs.json"}})"), Error);
}

TEST_F(Manifest, PathsOfScenariosAndTracesAreRelativeToTheManifest) {
  std::filesystem::create_directory("sub");
  write("sub/s.json", R"({"model": "gpt2", "gpu": "h100",
                          "workload": {"type": "trace", "path": "t.csv"}})");
  write("sub/m.json", R"({"schema_version": 1, "cases": [
      {"scenario": "s.json", "measured": {"kv_blocks": 1}},
      {"scenario": {"model": "gpt2", "gpu": "h100", "workload": {"type": "trace", "path": "u.csv"}},
       "measured": {"kv_blocks": 1}}]})");
  const auto cases = read_manifest("sub/m.json").cases;
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(std::get<TraceWorkload>(cases[0].scenario.workload).path, "sub/t.csv");
  EXPECT_EQ(std::get<TraceWorkload>(cases[1].scenario.workload).path, "sub/u.csv");
}

TEST_F(Manifest, AStepSaysItsBatch) {
  const std::string step = R"({"prefills": [{"new_tokens": 512, "context_tokens": 64}],
                               "decode_sequences": 3, "decode_context_tokens": 3000})";
  const auto cases = cases_of(R"({"ask": "step", "step": )" + step +
                              R"(, "scenario": {"model": "gpt2", "gpu": "h100"},
                                  "measured": {"step_s": "2 ms"}})");
  ASSERT_EQ(cases.at(0).problem, "");
  EXPECT_EQ(cases[0].step.prefills.at(0).context_tokens, 64);
  EXPECT_EQ(cases[0].step.decode_context_tokens, 3000);
  EXPECT_THAT(cases_of(R"({"ask": "step", "scenario": {"model": "gpt2", "gpu": "h100"},
                           "measured": {"step_s": 1}})")
                  .at(0)
                  .problem,
              HasSubstr("cases[0].step is missing"));
}

TEST_F(Manifest, TheSchemaListsTheMetricsThatAreRead) {
  std::ifstream file(ROOFCAST_SOURCE_DIR "/validate/validation.schema.json");
  const auto schema = nlohmann::json::parse(file);
  std::vector<std::string> listed;
  for (const auto& item : schema["$defs"]["figures"]["properties"].items()) {
    listed.push_back(item.key());
  }
  EXPECT_THAT(listed, testing::UnorderedElementsAreArray(comparable_metrics()));
}

TEST_F(Manifest, TheSchemaAllowsTheStatisticsThatAreRead) {
  std::ifstream file(ROOFCAST_SOURCE_DIR "/validate/validation.schema.json");
  const auto schema = nlohmann::json::parse(file);
  const auto& patterns = schema["$defs"]["statistics"]["patternProperties"];
  const std::regex pattern(patterns.items().begin().key());
  for (const std::string& statistic : comparable_statistics()) {
    EXPECT_TRUE(std::regex_match(statistic, pattern)) << statistic;
  }
  EXPECT_FALSE(std::regex_match("p95_difference", pattern));
}

TEST_F(Manifest, WhatIsNoManifestIsRefusedByFileAndKey) {
  EXPECT_THAT(refusal("[]"), HasSubstr("m.json"));
  EXPECT_THAT(refusal(R"({"a": 1})"), HasSubstr("neither a manifest"));
  EXPECT_THAT(refusal(R"({"cases": []})"), HasSubstr("schema_version"));
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": []})"), HasSubstr("cases"));
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": [5]})"), HasSubstr("cases[0]"));
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": [{}], "default": {}})"),
              HasSubstr("'defaults'"));
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": [{"scenarios": 1}]})"),
              HasSubstr("did you mean 'scenario'"));
  EXPECT_THAT(refusal(R"({"schema_version": 1, "cases": [{"measured": {"kv_blocks": NaN}}]})"),
              HasSubstr("is not JSON"));
}

}  // namespace
}  // namespace roofcast::test

#include "roofcast/validate.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "roofcast/fit.hpp"
#include "tests/roofcast/read_back.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Json scenario_of(const char* model) {
  return {{"model", model},
          {"gpu", "h100"},
          {"engine", "vllm-0.19"},
          {"workload",
           {{"type", "synthetic"}, {"num_prompts", 10}, {"request_rate", 4}, {"output_len", 8}}}};
}

/// A manifest of two cases, of which one has a prediction.
class Validate : public testing::Test {
 protected:
  Validate() {
    std::ofstream(question.files.files.front())
        << Json{{"schema_version", 1},
                {"name", "ours"},
                {"cases",
                 {{{"name", "served"},
                   {"group", "a group"},
                   {"scenario", scenario_of("llama-3.1-8b")},
                   {"measured", {{"tpot_s", {{"mean", 0.007}}}, {"kv_blocks", 1000}}}},
                  {{"name", "unknown"},
                   {"scenario", scenario_of("no-such-model")},
                   {"measured", {{"kv_blocks", 1}}}}}}};
  }

  static ValidationAnswer read_back(const ValidationAnswer& answer) {
    return test::read_back(answer, validation_answer_from_json, validation_answer_schema());
  }

  TemporaryFolder folder_;
  ValidationQuestion question{.files = {.files = {folder_.path() + "/m.json"}}};
};

TEST_F(Validate, AnswerReadsBackAsItWasWritten) {
  question.limits = {{.name = "tpot_s", .share = 0.01}, {.name = "itl_s", .share = 0.5}};
  const ValidationAnswer answer = validate(question).value();
  const ValidationAnswer read = read_back(answer);
  EXPECT_EQ(read.inputs.name, "ours");
  EXPECT_EQ(read.answered, 1);
  EXPECT_EQ(read.unanswered, 1);
  ASSERT_EQ(read.cases.size(), 2U);
  ASSERT_EQ(read.cases[0].compared.figures.size(), 2U);
  EXPECT_THAT(read.cases[0].compared.reason, IsEmpty());
  EXPECT_THAT(read.cases[1].compared.reason, HasSubstr("no-such-model"));
  // Its KV cache has many times the 1,000 blocks that the manifest pretends.
  const ComparedFigure& blocks = read.cases[0].compared.figures[0];
  EXPECT_EQ(blocks.measured, 1000);
  EXPECT_FALSE(is_covered(blocks));
  ASSERT_EQ(read.unjudged.size(), 1U);
  EXPECT_EQ(read.unjudged[0].name, "itl_s");
}

TEST_F(Validate, IsJudgedOnlyIfEveryCaseAndLimitHasAFigure) {
  const ValidationAnswer reported = validate(question).value();
  EXPECT_TRUE(is_judged(reported));  // without limits nothing has to be judged
  EXPECT_TRUE(is_yes(reported));
  question.limits = {{.name = "kv_blocks", .share = 0.1}};
  const ValidationAnswer answer = validate(question).value();
  EXPECT_EQ(answer.exceeded.size(), 1U);
  EXPECT_FALSE(is_judged(answer));  // one case has no answer
  EXPECT_FALSE(is_yes(answer));
}

TEST_F(Validate, GroupsByLabelsAndKeysOfTheScenario) {
  question.by = {"dtype", "workload.output_len"};
  const ValidationAnswer answer = read_back(validate(question).value());
  EXPECT_EQ(answer.inputs.by, question.by);
  const auto line = std::find_if(answer.ledger.begin(), answer.ledger.end(),
                                 [](const LedgerLine& one) { return one.by == LedgerBy::keys; });
  ASSERT_NE(line, answer.ledger.end());
  EXPECT_EQ(line->key, "-, 8");
  question.by = {"dtyp"};
  EXPECT_THAT(complaint([&] { validate(question); }),
              HasSubstr("no case has a key 'dtyp', did you mean 'dtype'"));
  bool simulated = false;  // is refused before anything is
  const auto progress = [&](std::int64_t, std::int64_t) { return simulated = true; };
  EXPECT_THROW(validate(question, progress), UsageError);
  EXPECT_FALSE(simulated);
}

// Two versions of one preset are two lines.
TEST_F(Validate, GroupsEnginesByTheVersionAskedFor) {
  Json cases = Json::array();
  for (const char* engine : {"sglang-0.5.7", "sglang-0.5.9", "vllm-0.12"}) {
    Json scenario = scenario_of("llama-3.1-8b");
    scenario["engine"] = engine;
    cases.push_back({{"scenario", scenario}, {"measured", {{"kv_blocks", 1000}}}});
  }
  std::ofstream(question.files.files.front()) << Json{{"schema_version", 1}, {"cases", cases}};
  const ValidationAnswer answer = validate(question).value();
  std::vector<std::string> engines;
  for (const LedgerLine& line : answer.ledger) {
    if (line.by == LedgerBy::engine) engines.push_back(line.key);
  }
  EXPECT_THAT(engines, ElementsAre("sglang-0.5.7", "sglang-0.5.9", "vllm-0.12"));
}

TEST_F(Validate, ChoicesUseThePricesThatAreGiven) {
  const auto served_on = [](const char* gpu, double tpot_s) {
    Json scenario = scenario_of("llama-3.1-8b");
    scenario["gpu"] = gpu;
    scenario["workload"] = {
        {"type", "synthetic"}, {"num_prompts", 8}, {"input_len", 64}, {"output_len", 16}};
    scenario["max_concurrency"] = 4;
    return Json{{"scenario", scenario},
                {"measured", {{"tpot_s", {{"mean", tpot_s}}}, {"ttft_s", {{"mean", 0.02}}}}}};
  };
  std::ofstream(question.files.files.front()) << Json{
      {"schema_version", 1}, {"cases", {served_on("h100", 0.008), served_on("l40s", 0.025)}}};
  question.prices = {{"l40s", 0.5}};
  const ValidationAnswer answer = read_back(validate(question).value());
  EXPECT_DOUBLE_EQ(answer.inputs.prices.at("nvidia-l40s"), 0.5);
  EXPECT_DOUBLE_EQ(answer.inputs.prices.at("nvidia-h100-sxm"), 4.5);  // the profile's
  ASSERT_EQ(answer.decisions.size(), 7U);                             // no GPU has two layouts
  EXPECT_EQ(answer.decisions[0].choice, ChoiceOf::gpu_per_dollar);
  // At 10 ms only the H100 was measured to meet the limit; at 100 ms 4 x 16 tokens in 0.02 +
  // 15 x 0.025 s for 0.5 $ are more than in 0.02 + 15 x 0.008 s for 4.5 $.
  EXPECT_THAT(answer.decisions[0].best, HasSubstr("nvidia-h100-sxm"));
  EXPECT_THAT(answer.decisions[6].best, HasSubstr("nvidia-l40s"));
  ASSERT_EQ(answer.choices.size(), 1U);
  EXPECT_EQ(answer.choices[0].questions, 7);
  question.prices = {{"no-such-gpu", 1}};
  EXPECT_THAT(complaint([&] { validate(question); }), HasSubstr("no-such-gpu"));
}

TEST_F(Validate, StoresBothSidesOfAnsweredCases) {
  const auto outcome = validate(question, read_inputs(question.files)).value();
  const auto runs = validation_runs(outcome, "a command");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].name, "served");
  EXPECT_EQ(runs[0].predicted.row.kind, "validate");
  EXPECT_EQ(runs[0].measured.row.kind, "measured");
  EXPECT_EQ(runs[0].measured.row.command_line, "a command");
}

TEST_F(Validate, RefusesAnOverrideOfAManifestByTheCallersName) {
  question.files.given.deployment.gpu = "l40s";
  question.files.override_name = "gpu";
  EXPECT_THAT(complaint([&] { validate(question); }), HasSubstr("gpu: "));
}

TEST_F(Validate, IsNothingWhenItWasCancelled) {
  EXPECT_FALSE(validate(question, [](std::int64_t, std::int64_t) { return false; }));
}

/// The manifest's only usable case has one figure that depends on host time.
TEST_F(Validate, FitReadsBackAsItWasWritten) {
  FitQuestion fitted{.files = question.files.files, .name = "ours"};
  fitted.terms = {&host_terms()[0], &host_terms()[1]};
  fitted.out = folder_.path() + "/engine.json";
  const FitAnswer answer = fit(fitted).value();
  const FitAnswer read = test::read_back(answer, fit_answer_from_json, fit_answer_schema());
  EXPECT_EQ(read.engine.name, "ours");
  EXPECT_EQ(read.engine.preset, "vllm-0.19");
  EXPECT_EQ(read.runs, 1);
  EXPECT_EQ(read.figures, 1);
  EXPECT_THAT(read.fitted_metrics, ElementsAre("tpot_s mean"));
  EXPECT_FALSE(read.errors.leave_one_run_out);  // the only run cannot be left out
  ASSERT_EQ(read.terms.size(), 2U);
  EXPECT_EQ(read.terms[0].name, host_terms()[0].name);
  ASSERT_EQ(read.left_out.size(), 1U);
  EXPECT_EQ(read.left_out[0].name, "unknown");
  EXPECT_TRUE(std::filesystem::exists(fitted.out));
}

TEST_F(Validate, FitWritesNothingWhenItWasCancelled) {
  const std::string out = folder_.path() + "/engine.json";
  EXPECT_FALSE(fit({.files = question.files.files, .out = out},
                   [](std::int64_t, std::int64_t) { return false; }));
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace roofcast::test

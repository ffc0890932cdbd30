// `roofcast validate` as a user runs it, on manifests written here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Two cases of which one has an answer, in the folder that is current while a test runs.
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

  /// What a simulation of the first case says.
  json simulated() const {
    std::ofstream("s.json") << manifest_["cases"][0]["scenario"];
    return json::parse(run_command("simulate s.json --no-store -o json").out);
  }

  json manifest_;

 private:
  TemporaryFolder folder_;
};

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
  EXPECT_THAT(result.out, HasSubstr("Not answered"));
  EXPECT_THAT(result.out, HasSubstr("'no-such-model' is no file"));
  EXPECT_THAT(result.out, HasSubstr("1 of 2 cases answered, 1 not"));
}

TEST_F(Validate, NoAnswerAtAllFails) {
  manifest_["cases"].erase(0);
  EXPECT_EQ(validate().exit_code, 1);
}

TEST_F(Validate, PastTheThresholdTheAnswerIsNo) {
  EXPECT_EQ(validate("--threshold kv_blocks=1e6%").exit_code, 0);
  const CommandResult result = validate("--threshold kv_blocks=10%");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("Past the threshold: kv_blocks"));
}

TEST_F(Validate, TheLedgerStandsInsteadOfTheCases) {
  const CommandResult result = validate("--ledger");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("All cases"));
  EXPECT_THAT(result.out, HasSubstr("MAPE"));
  EXPECT_THAT(result.out, Not(HasSubstr("served")));
}

TEST_F(Validate, IsTheSameEveryTime) {
  EXPECT_EQ(validate("-o json").out, validate("-o json").out);
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

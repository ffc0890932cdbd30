// The program as users meet it: help, exit codes, one clear line for bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Expects one line on stderr that starts with the program's name, and nothing on stdout.
void expect_one_clear_line(const CommandResult& result, int exit_code, const std::string& about) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, StartsWith("roofcast: "));
  EXPECT_THAT(result.err, HasSubstr(about));
}

TEST(Program, HelpListsEveryCommand) {
  const CommandResult help = run_command("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const Command& command : commands()) EXPECT_THAT(help.out, HasSubstr(command.name));
}

TEST(Program, EveryCommandHasHelpWithAnExample) {
  for (const Command& command : commands()) {
    const CommandResult help = run_command(std::string(command.name) + " --help");
    EXPECT_EQ(help.exit_code, 0) << command.name;
    EXPECT_THAT(help.out, HasSubstr("example: roofcast " + std::string(command.name)));
  }
}

TEST(Program, HelpFitsAScreen) {
  for (const Command& command : commands()) {
    std::istringstream help(run_command(std::string(command.name) + " --help").out);
    std::string line;
    int lines = 0;
    for (; std::getline(help, line); ++lines) EXPECT_LE(line.size(), 100U) << line;
    // Only the commands that take a whole scenario or load as flags need more than one page.
    const std::set<std::string> long_ones{"capacity", "measure", "simulate", "trace"};
    EXPECT_LE(lines, long_ones.contains(command.name) ? 75 : 40) << command.name;
  }
}

TEST(Program, UnknownCommandSuggestsTheNearest) {
  expect_one_clear_line(run_command("memroy"), 2, "did you mean 'memory'?");
}

TEST(Program, UnknownOptionSuggestsTheNearest) {
  expect_one_clear_line(run_command("memory --modle x"), 2, "did you mean '--model'?");
}

TEST(Program, MissingModelIsMisuse) {
  expect_one_clear_line(run_command("memory --gpu h100"), 2, "--model is missing");
}

TEST(Program, UnknownGpuSuggestsTheNearest) {
  expect_one_clear_line(run_command("memory --model llama-3.1-8b --gpu h300"), 2, "h200");
}

TEST(Program, UnknownModelSuggestsTheNearest) {
  expect_one_clear_line(run_command("memory --model lama-3.1-8b --gpu h100"), 2, "llama-3.1-8b");
}

TEST(Program, OptionsTakeTheEnginesSpellings) {
  const auto names =
      run_command("memory --model llama-3.1-70b --gpu h200 -tp 2 --max_model_len 8192 -o json");
  const auto parsed = nlohmann::json::parse(names.out);
  EXPECT_EQ(parsed["inputs"]["parallel"]["tensor"], 2);
  EXPECT_EQ(parsed["inputs"]["engine"]["max_model_len"], 8192);
}

TEST(Program, NumbersTakeUnits) {
  const auto result =
      run_command("memory --model llama-3.1-8b --gpu h100 --max-model-len 16k -o json");
  EXPECT_EQ(nlohmann::json::parse(result.out)["inputs"]["engine"]["max_model_len"], 16000);
}

TEST(Program, WhatDoesNotFitExitsWithThree) {
  const CommandResult result = run_command("memory --model llama-3.1-70b --gpu rtx-4090 -o json");
  EXPECT_EQ(result.exit_code, 3);
  const auto parsed = nlohmann::json::parse(result.out);
  EXPECT_FALSE(parsed["fits"]);
  EXPECT_FALSE(parsed["reason"].get<std::string>().empty());
}

TEST(Program, NegativeAndBrokenNumbersNameTheFlag) {
  expect_one_clear_line(run_command("memory --model llama-3.1-8b --gpu h100 --max-model-len=-5"), 2,
                        "--max-model-len");
  expect_one_clear_line(
      run_command("memory --model llama-3.1-8b --gpu h100 --gpu-memory-utilization 1.5"), 2,
      "--gpu-memory-utilization");
  expect_one_clear_line(run_command("staircase --prompt 1x --generate 2"), 2, "--prompt");
}

TEST(Program, NoTokensToEstimateIsMisuse) {
  for (const char* flag : {"--batch 0", "--isl 0", "--osl 0"}) {
    expect_one_clear_line(
        run_command(std::string("estimate --model llama-3.1-8b --gpu h100 ") + flag), 2,
        "at least 1");
  }
}

// One sequence of the model's 131,072 tokens fits no 24 GB card, so the engine does not start there
// with its default; what makes a batch of shorter ones fit must then start it, too.
TEST(Program, WhatWouldMakeABatchFitDoesWhenPasted) {
  const std::string command = "memory --model llama-3.1-8b --gpu rtx-4090 ";
  const std::string batch = "--batch 8 ";
  const std::string context = "--context 16k ";
  const CommandResult refused = run_command(command + batch + context + "-o json");
  EXPECT_EQ(refused.exit_code, 3);
  std::string flags;
  const auto answer = nlohmann::json::parse(refused.out);
  for (const auto& remedy : answer["remedies"]) {
    const std::string flag = remedy["flag"];
    flags += flag + "\n";
    const CommandResult pasted = run_command(command + (flag.starts_with("--batch") ? "" : batch) +
                                             (flag.starts_with("--context") ? "" : context) + flag);
    EXPECT_EQ(pasted.exit_code, 0) << flag << pasted.err;
    EXPECT_THAT(pasted.out, Not(HasSubstr("starts only with"))) << flag;
  }
  EXPECT_THAT(flags, HasSubstr("--batch "));
  EXPECT_THAT(flags, HasSubstr("--context "));
  EXPECT_THAT(flags, HasSubstr(" --max-model-len "));
}

TEST(Program, TimingAnEndlessStaircaseIsRefused) {
  expect_one_clear_line(
      run_command("staircase --prompt 1 --generate 1G --model llama-3.1-8b --gpu h100"), 2,
      "--generate");
}

TEST(Program, AFullDiskIsSaid) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  expect_one_clear_line(run_command("simulate --model llama-3.1-8b --gpu h100 --num-prompts 5 "
                                    "--request-rate 1 --no-store --requests-out /dev/full"),
                        1, "/dev/full");
}

TEST(Program, BrokenConfigNamesTheFile) {
  const TemporaryFolder folder;
  std::ofstream("config.json") << "{\"model_type\": \"llama\", ";
  expect_one_clear_line(run_command("models ./config.json"), 1, "config.json");
}

TEST(Program, ConfigWithoutHeadsNamesTheKey) {
  const TemporaryFolder folder;
  std::ofstream("config.json") << R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
      "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 100})";
  expect_one_clear_line(run_command("models ./config.json"), 1, "num_attention_heads");
}

TEST(Program, EmptyTraceAndBadRowsAreNamedByLine) {
  const TemporaryFolder folder;
  const std::string base = "simulate --model llama-3.1-8b --gpu h100 --no-store --trace ";
  std::ofstream("empty.csv") << "";
  expect_one_clear_line(run_command(base + "empty.csv"), 1, "empty.csv");
  std::ofstream("bad.csv") << "arrival,input,output\n0,10,5\n1,ten,5\n";
  expect_one_clear_line(run_command(base + "bad.csv"), 1, "bad.csv:3");
  const CommandResult skipped = run_command(base + "bad.csv --skip-bad-rows -o json");
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_EQ(nlohmann::json::parse(skipped.out)["workload"]["rows_skipped"], 1);
}

TEST(Program, AStoreThatIsNoDatabaseIsLeftAlone) {
  const TemporaryFolder folder;
  std::ofstream("notes.txt") << "not a database, but a file somebody needs";
  const CommandResult result = run_command(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 5 --request-rate 1 --store "
      "notes.txt");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("notes.txt"));
  EXPECT_EQ(text_in("notes.txt"), "not a database, but a file somebody needs");
}

TEST(Program, ScenarioKeysAreChecked) {
  const TemporaryFolder folder;
  std::ofstream("scenario.json") << R"({"schema_version": 1, "modle": "llama-3.1-8b"})";
  expect_one_clear_line(run_command("simulate scenario.json --no-store"), 1, "model");
}

TEST(Program, FlagsOverrideTheScenarioAndDefaultsDoNot) {
  const TemporaryFolder folder;
  std::ofstream("scenario.json") << R"({"model": "llama-3.1-8b", "gpu": "h100",
      "engine": "vllm-0.29", "parallel": {"tensor": 4},
      "workload": {"type": "synthetic", "num_prompts": 3},
      "slo": {"goodput": [{"metric": "ttft", "limit_s": 0.5}]}})";
  const auto scenario_with = [](const std::string& flags) {
    const CommandResult result = run_command("simulate scenario.json --no-store -o json " + flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["inputs"]["scenario"];
  };
  const auto as_written = scenario_with("");
  EXPECT_EQ(as_written["engine"], "vllm-0.29");
  EXPECT_EQ(as_written["parallel"]["tensor"], 4);
  const auto changed = scenario_with("--engine vllm-0.11 --tp 1 --goodput tpot:50");
  EXPECT_EQ(changed["engine"], "vllm-0.11");
  EXPECT_EQ(changed["parallel"]["tensor"], 1);
  ASSERT_EQ(changed["slo"]["goodput"].size(), 1U);
  EXPECT_EQ(changed["slo"]["goodput"][0]["metric"], "tpot");
}

TEST(Program, SameScenarioAndSeedGiveTheSameBytes) {
  const std::string line =
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 200 --request-rate 20 "
      "--input-len lognormal:500:0.8 --output-len uniform:10:300 --seed 7 --no-store -o json";
  EXPECT_EQ(run_command(line).out, run_command(line).out);
}

TEST(Program, AMissedSloExitsWithThreeAndAMetOneWithZero) {
  const std::string line =
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 50 --request-rate 2 --no-store "
      "--slo ";
  EXPECT_EQ(run_command(line + "p95:ttft:1us").exit_code, 3);
  EXPECT_EQ(run_command(line + "p95:ttft:100s").exit_code, 0);
}

TEST(Program, ATargetThatCannotBeReadIsMisuseOfItsFlag) {
  const std::string base = "simulate --model llama-3.1-8b --gpu h100 --no-store ";
  expect_one_clear_line(run_command(base + "--slo ttft:500"), 2, "--slo: target 'ttft:500'");
  expect_one_clear_line(run_command(base + "--goodput ttft"), 2, "--goodput: goodput limit 'ttft'");
}

TEST(Program, ATargetOfWhatNoRequestHasShowsNoFigure) {
  // One token a request: there is no time between tokens.
  const CommandResult result = run_command(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 2 --output-len 1 --no-store "
      "--slo p95:tpot:50ms -o json");
  EXPECT_TRUE(nlohmann::json::parse(result.out)["slo"]["targets"][0]["achieved_s"].is_null());
}

TEST(Program, AnOutputThatCannotBeWrittenIsFoundBeforeTheWork) {
  const TemporaryFolder folder;
  expect_one_clear_line(
      run_command("simulate --model llama-3.1-8b --gpu h100 --num-prompts 2 --store runs.db "
                  "--requests-out no/such/folder.csv"),
      1, "no/such/folder.csv: cannot be written");
}

TEST(Program, SimulatedRunsAreKeptWithTheirInput) {
  const TemporaryFolder folder;
  const CommandResult simulated = run_command(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 20 --request-rate 5 --seed 3 "
      "--store runs.db --keep-requests --requests-out requests.csv -o json");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  const auto list = nlohmann::json::parse(run_command("runs --store runs.db -o json").out);
  ASSERT_EQ(list["runs"].size(), 1U);
  const auto run = nlohmann::json::parse(run_command("runs 1 --store runs.db -o json").out);
  EXPECT_EQ(run["requests_stored"], 20);
  EXPECT_EQ(run["scenario"]["seed"], 3);
  std::ifstream rows("requests.csv");
  std::string line;
  int lines = 0;
  while (std::getline(rows, line)) ++lines;
  EXPECT_EQ(lines, 21);  // a header and 20 requests
}

// Of the H100: 33,750 / (4 x 8,760 h) + 0.7 kW x 1.3 x $0.10 = 0.963 + 0.091 = 1.054.
TEST(Program, APriceTableIsShownByKindOfPrice) {
  const TemporaryFolder folder;
  std::ofstream("p.json") << run_command("gpus --as-prices").out;
  const CommandResult shown = run_command("gpus --prices p.json");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, testing::ContainsRegex("nvidia-h100-sxm +4.50 +- +- +1.05 +33,?750"));
  EXPECT_THAT(shown.out, HasSubstr("over 4 years"));
  expect_one_clear_line(run_command("gpus --prices p.json -o json"), 2, "--output");
  expect_one_clear_line(run_command("gpus h100 --prices p.json"), 2, "--prices");
  expect_one_clear_line(run_command("gpus --prices none.json"), 1, "none.json");
  EXPECT_THAT(run_command("gpus --prices h100=2.49").out,
              testing::ContainsRegex("nvidia-h100-sxm +2.49"));
}

TEST(Program, RequestsOfALimitedClientSayWhenTheyWereSent) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 2 --max-concurrency 1 --no-store "
      "--requests-out requests.jsonl");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("client queue"));
  std::ifstream file("requests.jsonl");
  std::string line;
  std::vector<nlohmann::json> rows;
  while (std::getline(file, line)) rows.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(rows.size(), 2U);
  // Both arrive at once; the second is sent when the first has finished.
  EXPECT_EQ(rows[0]["sent_s"], 0.0);
  EXPECT_EQ(rows[1]["arrival_s"], 0.0);
  EXPECT_EQ(rows[1]["sent_s"], rows[0]["finished_s"]);
}

}  // namespace
}  // namespace roofcast::test

// Shell completion covers every command and flag of the program without a list of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "cli/shell/option_values.hpp"
#include "cli/shell/program_facts.hpp"
#include "reports/document.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

/// The offered words, and ":files".
std::vector<std::string> offered(const std::string& line) {
  std::istringstream lines(run_command("completion words -- " + line).out);
  std::vector<std::string> words;
  for (std::string text; std::getline(lines, text);)
    words.push_back(text.substr(0, text.find('\t')));
  return words;
}

TEST(ProgramFacts, EveryCommandAndFlagOfTheHelpIsThere) {
  std::set<std::string> names;
  for (const CommandFacts& command : program_facts()) {
    names.insert(command.name);
    const std::string help = run_command(command.name + " --help-all").out;
    for (const OptionFacts& option : command.options) {
      EXPECT_THAT(help.empty() ? run_command(command.name + " --help").out : help,
                  testing::HasSubstr("--" + option.name))
          << command.name;
      EXPECT_NE(option.help, "") << command.name << " --" << option.name;
    }
  }
  for (const Command& command : commands()) EXPECT_TRUE(names.contains(command.name));
  EXPECT_TRUE(names.contains("runs import"));
}

TEST(ProgramFacts, SayWhatAFlagTakesAndWhereItIsListed) {
  for (const CommandFacts& command : program_facts()) {
    if (command.name != "simulate") continue;
    std::map<std::string, OptionFacts> options;
    for (const OptionFacts& option : command.options) options.emplace(option.name, option);
    EXPECT_EQ(options["output"].short_name, "o");
    EXPECT_EQ(options["output"].group, "Output");
    EXPECT_EQ(options["model"].group, "Model and GPUs");
    EXPECT_TRUE(options["model"].needs_value);
    EXPECT_FALSE(options["enforce-eager"].needs_value);  // may stand alone
    EXPECT_TRUE(options["slo"].several_values);
    EXPECT_EQ(options["help"].placeholder, "");
    EXPECT_EQ(command.positional, (std::vector<std::string>{"scenario"}));
  }
}

TEST(Completion, OffersCommands) {
  EXPECT_THAT(offered("mem"), ElementsAre("memory"));
  EXPECT_THAT(offered("''"), IsSupersetOf({"models", "simulate", "completion"}));
  EXPECT_THAT(offered("''"), Not(Contains("runs import")));
  EXPECT_THAT(offered("runs im"), ElementsAre("import"));
  EXPECT_THAT(offered("--v"), ElementsAre("--version"));
  EXPECT_TRUE(offered("nothing --gp").empty());
}

TEST(Completion, OffersStepsOfTheLesson) {
  EXPECT_THAT(offered("learn pa"), ElementsAre("paging"));
  EXPECT_THAT(offered("learn s"),
              UnorderedElementsAre("start", "shape", "speculative", "slo", "sampling"));
  EXPECT_THAT(offered("learn gl"), ElementsAre("glossary"));
}

TEST(Completion, OffersFlagsOfTheCommandItStandsIn) {
  EXPECT_THAT(offered("memory --gpu-"), ElementsAre("--gpu-memory-utilization"));
  EXPECT_THAT(offered("memory --gp"), IsSupersetOf({"--gpu", "--gpu-memory-utilization"}));
  EXPECT_THAT(offered("runs import --meta"), ElementsAre("--meta"));
  EXPECT_THAT(offered("runs --meta"), ElementsAre());
  EXPECT_THAT(offered("simulate --watermark"), ElementsAre("--watermark"));  // shown by --help-all
  EXPECT_THAT(offered("memory --enforce-eager --gpu-"), ElementsAre("--gpu-memory-utilization"));
}

TEST(Completion, OffersValues) {
  EXPECT_THAT(offered("memory --gpu h"), IsSupersetOf({"h100", "h200"}));
  EXPECT_THAT(offered("memory --gpu=h2"), Contains("--gpu=h200"));
  EXPECT_THAT(offered("plan --gpu h100,h2"), Contains("h100,h200"));
  EXPECT_THAT(offered("memory --gpu nvidia-h100-s"), Contains("nvidia-h100-sxm"));
  EXPECT_THAT(offered("memory --model llama-3.1-8"), Contains("llama-3.1-8b"));
  EXPECT_THAT(offered("memory --model meta-llama/Llama-3.1-8"),
              Contains("meta-llama/Llama-3.1-8B"));
  EXPECT_THAT(offered("memory --engine sgl"), Contains("sglang"));
  EXPECT_THAT(offered("models gpt2-x"), ElementsAre("gpt2-xl", ":files"));
  EXPECT_THAT(offered("completion z"), ElementsAre("zsh"));
  EXPECT_THAT(offered("report led"), Contains("ledger"));
  EXPECT_THAT(offered("report h2"), Contains("h200"));
  EXPECT_THAT(offered("whatif --vary specul"),
              IsSupersetOf({"speculative=", "speculative_config=", "speculative_method="}));
  EXPECT_THAT(offered("whatif --vary poo"), Contains("pools="));
  EXPECT_THAT(offered("runs -o js"), ElementsAre("json", "jsonl"));
}

TEST(Completion, EveryFormatThatItOffersIsOne) {
  const auto formats = offered("runs --output ''");
  EXPECT_EQ(formats.size(), 5U);
  for (const std::string& format : formats) EXPECT_NO_THROW(parse_output_format(format));
}

TEST(Completion, OffersTheValuesOfAFixedList) {
  EXPECT_THAT(offered("memory --quantization fp"), Contains("fp8"));
  EXPECT_THAT(offered("memory --dtype b"), ElementsAre("bf16"));
  EXPECT_THAT(offered("memory --kv-cache-dtype=f"),
              ElementsAre("--kv-cache-dtype=fp16", "--kv-cache-dtype=fp8"));
  EXPECT_THAT(offered("memory --solve c"), ElementsAre("context"));
  EXPECT_THAT(offered("memory --scheduling-policy ''"),
              ElementsAre("fcfs", "priority", "lpm", "lof"));
  EXPECT_THAT(offered("simulate --router p"), Contains("prefix_affinity"));
  EXPECT_THAT(offered("runs import --format vllm"), Not(testing::IsEmpty()));
}

/// A command line for an option with fixed values, valid except for that option.
std::string line_for(const std::string& option) {
  static const std::map<std::string, std::string> kLines = {
      {"objective", "plan"},
      {"ramp-up-strategy", "trace --num-prompts 1 --ramp-up-start-rps 1 --ramp-up-end-rps 2"},
      {"range-ratio-style", "trace --num-prompts 1 --random-range-ratio 0.5"},
      {"format", "runs import nothing"},
      {"terms", "fit nothing --out nothing.json"},
      {"step", "learn --model gpt2 --gpu h100"},
      {"dtype", "memory --model gpt2 --gpu h100"},
      {"quantization", "memory --model gpt2 --gpu h100"}};
  const auto found = kLines.find(option);
  if (found != kLines.end()) return found->second;
  return "simulate --model gpt2 --gpu h100 --num-prompts 1 --trace nothing";
}

TEST(Completion, EveryValueThatItOffersIsOneThatTheFlagTakes) {
  std::set<std::string> options;
  for (const CommandFacts& command : program_facts()) {
    for (const OptionFacts& option : command.options) {
      if (!option_values(option.name).empty()) options.insert(option.name);
    }
  }
  // Answers that are not a choice of words: what is measured, and where.
  for (const char* elsewhere : {"device", "solve"}) EXPECT_EQ(options.erase(elsewhere), 1U);
  EXPECT_GE(options.size(), 15U);
  for (const std::string& option : options) {
    const auto complaint = [&option](const std::string& value) {
      return run_command(line_for(option) + " --" + option + " " + value).err;
    };
    EXPECT_THAT(complaint("zzz"), testing::HasSubstr("zzz")) << option;
    for (const std::string& value : option_values(option)) {
      EXPECT_THAT(complaint(value), Not(testing::HasSubstr("'" + value + "'"))) << option;
    }
  }
  for (const std::string& value : option_values("solve")) {
    EXPECT_EQ(run_command("memory --model gpt2 --gpu h100 --solve " + value).exit_code, 0);
  }
}

TEST(Completion, KnowsWhatOtherToolsCallAFlag) {
  EXPECT_THAT(offered("memory --tp"), ElementsAre("--tp", "--tp-size"));
  EXPECT_THAT(offered("memory --tp ''"), ElementsAre());  // a number comes next
  EXPECT_THAT(offered("memory -q fp"), Contains("fp8"));
  EXPECT_THAT(offered("memory --mem-fraction-static=0.9 --gpu h2"), Contains("h200"));
  EXPECT_THAT(offered("memory --t"), Not(Contains("--tp")));  // ours first
}

TEST(Completion, OffersFilesWhereFilesAreWanted) {
  EXPECT_THAT(offered("simulate --trace ''"), ElementsAre(":files"));
  EXPECT_THAT(offered("simulate ''"), ElementsAre(":files"));  // a scenario
  EXPECT_THAT(offered("runs --store=x"), ElementsAre(":files"));
  EXPECT_THAT(offered("runs import a b ''"), Contains(":files"));
  EXPECT_THAT(offered("memory --from-cmd ''"), ElementsAre());  // a line, or @FILE
  EXPECT_THAT(offered("memory --tensor-parallel-size ''"), ElementsAre());
}

TEST(Completion, WhateverIsTypedHasAnAnswer) {
  for (const char* line : {"", "''", "memory '' ''", "memory --", "memory --=", "memory --gpu=,,",
                           "memory --model --gpu", "- -", "runs import", "memory --nosuch x"}) {
    EXPECT_EQ(run_command(std::string("completion words -- ") + line).exit_code, 0) << line;
  }
}

TEST(Licences, NameWhatIsBuiltIn) {
  const std::string text = run_command("--licenses").out;
  for (const char* name : {"Apache ECharts", "The Apache Software Foundation", "zrender",
                           "Baidu Inc.", "Duktape", "Permission is hereby granted"}) {
    EXPECT_THAT(text, testing::HasSubstr(name));
  }
}

TEST(Completion, AShellThatIsNoneIsMisuse) {
  EXPECT_EQ(run_command("completion tcsh").exit_code, 2);
  EXPECT_EQ(run_command("completion").exit_code, 2);
}

}  // namespace
}  // namespace roofcast::test

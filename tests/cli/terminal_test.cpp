#include "cli/terminal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The output of a command on a terminal.
std::string on_terminal(const std::string& line, const Terminal& terminal) {
  return run_command(line, terminal).out;
}

std::set<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::set<std::string> words;
  for (std::string word; stream >> word;) {
    if (word.find_first_not_of('-') != std::string::npos) words.insert(word);
  }
  return words;
}

constexpr const char* kAnswers[] = {
    "memory --model llama-3.1-70b --gpu h200",
    "models",
    "gpus",
    "gpus h100",
    "estimate --model llama-3.1-8b --gpu h100 --batch 1-64*4",
    "simulate --model llama-3.1-8b --gpu h100 --num-prompts 50 --slo p95:ttft:1s --no-store",
    "capacity --model llama-3.1-8b --gpu h100 --num-prompts 200 --slo p95:ttft:1s --no-store",
    "report h200",
    "learn",
    "learn glossary",
    "doctor",
};

TEST(Terminal, EveryLineFitsFrom80ColumnsOn) {
  for (const char* line : kAnswers) {
    for (const std::size_t width : {80, 100, 132}) {
      std::istringstream text(on_terminal(line, {.width = width}));
      for (std::string row; std::getline(text, row);) {
        const bool rule = row.find_first_not_of(" -") == std::string::npos;
        // Commands are left whole.
        if (!rule && row.find(" --") != row.rfind(" --")) continue;
        const std::size_t last_word = row.size() - (row.rfind(' ') + 1);
        if (last_word > 24) continue;  // paths and links are left whole
        EXPECT_LE(display_width(row), width) << line << "\n" << row;
      }
    }
  }
}

TEST(Terminal, NoWordIsLostByFitting) {
  for (const char* line : kAnswers) {
    const std::string narrow = on_terminal(line, {.width = 80});
    for (const std::string& word : words_of(run_command(line).out)) {
      EXPECT_THAT(narrow, HasSubstr(word)) << line;
    }
  }
}

TEST(Terminal, APipeGetsLinesAsTheyAre) {
  const std::string line = "memory --model llama-3.1-70b --gpu h200";
  EXPECT_EQ(on_terminal(line, {}), run_command(line).out);
  EXPECT_THAT(on_terminal(line, {}), Not(HasSubstr("\033")));
}

TEST(Terminal, VerdictsAreColouredAndNothingElseChanges) {
  const Terminal terminal{.colour = true};
  std::string text = on_terminal(kAnswers[0], terminal);
  EXPECT_THAT(text, HasSubstr("\033[31mDoes not fit\033[0m"));
  for (std::size_t at = 0; (at = text.find('\033', at)) != std::string::npos;) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  EXPECT_EQ(text, run_command(kAnswers[0]).out);
}

TEST(Terminal, ColorSaysWhen) {
  const std::string line = "memory --model llama-3.1-8b --gpu h100";
  const Terminal coloured{.colour = true};
  EXPECT_THAT(on_terminal(line + " --color never", coloured), Not(HasSubstr("\033")));
  EXPECT_THAT(on_terminal(line + " --color always", {}), HasSubstr("\033[32mFits\033[0m"));
  EXPECT_THAT(on_terminal(line + " --color always -o json", {}), Not(HasSubstr("\033")));
  EXPECT_EQ(run_command(line + " --color maybe").exit_code, 2);
}

TEST(Terminal, ATableTooWideIsContinuedWithItsFirstColumn) {
  Table table{.title = "Load", .columns = {}, .rows = {{}}};
  table.columns.push_back({.title = "Name", .right = false});
  table.rows[0].emplace_back("first");
  for (int i = 0; i < 10; ++i) {
    table.columns.push_back({.title = "Figure", .right = true});
    table.rows[0].emplace_back("1234567890");
  }
  Document document{.machine = {}, .sections = {}};
  document.sections.push_back({.heading = "", .lines = {}, .table = table});
  const Document narrow = fitted(document, 80);
  // 5 and six times 2 + 10 are 77 columns: six figures, then four.
  ASSERT_EQ(narrow.sections.size(), 2u);
  EXPECT_EQ(narrow.sections[0].table.columns.size(), 7u);
  EXPECT_EQ(narrow.sections[1].table.columns.size(), 5u);
  EXPECT_EQ(narrow.sections[1].table.title, "Load (continued)");
  EXPECT_EQ(narrow.sections[1].table.rows.back().front().text, "first");
}

TEST(Terminal, HelpBeginsWithQuestionsWhoseLinesRun) {
  if (kSanitised) GTEST_SKIP() << "commands that other tests run";
  const TemporaryFolder folder;
  std::istringstream help(run_command("--help").out);
  int tried = 0;
  for (std::string row; std::getline(help, row);) {
    if (!row.starts_with("    roofcast ")) continue;
    const std::string line = row.substr(13);
    if (line == "serve") continue;  // does not end
    EXPECT_THAT(run_command(line).exit_code, testing::AnyOf(0, 3)) << line;
    ++tried;
  }
  EXPECT_EQ(tried, 8);
}

TEST(Mistakes, OfOneKindExitWith2AndSpeakOfWhatWasTyped) {
  struct Case {
    const char* line;
    const char* says;
  };
  for (const Case& mistake :
       {Case{"memory --model llama-3.1-8b --gpu 2xH100", "--gpu names one GPU"},
        Case{"simulate --model llama-3.1-8b --gpu h100 --prefill-replicas 2 --no-store",
             "--decode-replicas"},
        Case{"simulate --model llama-3.1-8b --gpu h100 --num-prompts 200000000 --no-store",
             "--num-prompts"},
        Case{"memory --model llama-3.1-8b --gpu h100 --max-model-len=",
             "--max-model-len: a value is missing"},
        Case{"estimate --model gpt2 --gpu h100 --isl 5000", "--input-len: 5000"},
        Case{"staircase --model gpt2 --gpu h100 --prompt 900 --generate 900",
             "--prompt and --generate"},
        Case{"simulate --model llama-3.1-8b --gpu h100 --enforce-eager maybe",
             "--enforce-eager: 'maybe' is not a switch"},
        Case{"simulate --model llama-3.1-8b --gpu h100 --no-store --store y.db",
             "give one of them"},
        Case{"memory --model llama-3.1-8b --gpu h100 --max-model-len 99999999999999999999",
             "too large"},
        Case{"plan --model llama-3.1-8b --gpu h100 --request-rate 1 --slo p95:ttft:1s --budget -4",
             "--budget: '-4' must be above 0"},
        Case{"memory --model llama-3.1-8b --gpu h100 --num-gpus 2",
             "here it is --tensor-parallel-size N (GPUs of a replica) ("},
        Case{"memory llama-3.1-8b h100", "meant --model llama-3.1-8b --gpu h100?"},
        Case{"memory 'my model' --gpu h100", "meant --model 'my model'?"},
        Case{"memory llama-3.1-8b h100 8", "roofcast memory --help"},
        Case{"learn shape roofline", "too many arguments (roofcast learn --help"},
        Case{"simulate --model llama-3.1-8b --gpu h100 --speculative eagle",
             "here it is --speculative-config METHOD:DRAFTS:RATE (such as eagle:3:0.7)"},
        Case{"simulate --model llama-3.1-8b --gpu h100 --speculative-config eagle",
             "'eagle' is neither METHOD:DRAFTS:RATE"},
        Case{"simulate --model llama-3.1-8b --gpu any", "roofcast plan and roofcast capacity"},
        Case{"whatif --model llama-3.1-8b --gpu h100 --request-rate 1 --vary gpus=2",
             "tensor_parallel_size times replicas"},
        Case{"runs abc", "roofcast: runs: 'abc' is not a valid ID\n"}}) {
    const CommandResult result = run_command(mistake.line);
    EXPECT_EQ(result.exit_code, 2) << mistake.line;
    EXPECT_THAT(result.err, HasSubstr(mistake.says));
  }
}

TEST(Store, AnAnswerIsGivenWhereItCannotBeKept) {
  const TemporaryFolder folder;
  std::ofstream("roofcast.db").close();
  std::filesystem::permissions("roofcast.db", std::filesystem::perms::none);
  if (std::ifstream("roofcast.db").good()) GTEST_SKIP() << "this user may write everything";
  const CommandResult result =
      run_command("simulate --model llama-3.1-8b --gpu h100 --num-prompts 20");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Latency"));
  EXPECT_THAT(result.err, HasSubstr("not stored: roofcast.db"));
}

}  // namespace
}  // namespace roofcast::test

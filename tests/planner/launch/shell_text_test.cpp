#include "planner/launch/shell_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::string> words(const std::string& text) {
  for (const ShellCommand& command : read_shell(text).commands) {
    if (!command.words.empty()) return command.words;
  }
  return {};
}

TEST(ShellText, QuotesKeepWordsTogether) {
  EXPECT_THAT(words(R"(a 'b c' "d e" f"g h"i '')"), ElementsAre("a", "b c", "d e", "fg hi", ""));
}

TEST(ShellText, InDoubleQuotesABackslashEscapesQuotesAlone) {
  EXPECT_THAT(words(R"(x "{\"a\": 1}" "\d")"), ElementsAre("x", R"({"a": 1})", R"(\d)"));
}

TEST(ShellText, ALineGoesOnAfterABackslashWhateverBlanksFollow) {
  EXPECT_THAT(words("a \\\n  b \\  \n c \\\r\n d"), ElementsAre("a", "b", "c", "d"));
}

TEST(ShellText, ABackslashLeftOfAContinuationIsNoWord) {
  EXPECT_THAT(words("a \\ --b 2"), ElementsAre("a", "--b", "2"));
}

TEST(ShellText, CommentsEndWithTheLine) {
  EXPECT_THAT(words("# first\na b#c # rest"), ElementsAre("a", "b#c"));
}

TEST(ShellText, RedirectionsAreNoWords) {
  EXPECT_THAT(words("a b > out.log 2>&1"), ElementsAre("a", "b"));
  EXPECT_THAT(words("a b &> out.log"), ElementsAre("a", "b"));
  EXPECT_THAT(words("a < in b"), ElementsAre("a", "b"));
}

TEST(ShellText, CommandsEndAtSeparators) {
  const ShellScript script = read_shell("a 1; b 2 && c | d & e");
  std::vector<std::string> first;
  for (const ShellCommand& command : script.commands) first.push_back(command.words.at(0));
  EXPECT_THAT(first, ElementsAre("a", "b", "c", "d", "e"));
}

TEST(ShellText, VariablesThatTheTextSetsArePutIn) {
  EXPECT_THAT(words("M=x/y\nexport N='2 3'\nrun $M \"${N}\" $N ${P:-8} a$M"),
              ElementsAre("run", "x/y", "2 3", "2", "3", "8", "ax/y"));
}

TEST(ShellText, OtherVariablesStayAsWritten) {
  EXPECT_THAT(words("run $M ${N} $(nproc --all) `hostname`"),
              ElementsAre("run", "$M", "${N}", "$(nproc --all)", "`hostname`"));
}

TEST(ShellText, ArraysAreNotKnown) {
  EXPECT_THAT(words("A=(--tp 2\n --x 3)\nrun \"${A[@]}\""), ElementsAre("run", "${A[@]}"));
}

TEST(ShellText, AssignmentsBeforeACommandAreItsEnvironment) {
  const ShellScript script = read_shell("A=1 B='x y' run A=2");
  ASSERT_EQ(script.commands.size(), 1U);
  EXPECT_THAT(script.commands[0].assignments, ElementsAre(Pair("A", "1"), Pair("B", "x y")));
  EXPECT_THAT(script.commands[0].words, ElementsAre("run", "A=2"));
}

TEST(ShellText, HereDocumentsAreTheFilesTheyAreWrittenTo) {
  const ShellScript script = read_shell(
      "F=/tmp/a.yml\ncat <<'EOF' > ${F}\nx: 1\n# y\nEOF\ncat <<-E | tee b\n\tz\n\tE\nrun");
  EXPECT_THAT(script.files, ElementsAre(Pair("/tmp/a.yml", "x: 1\n# y\n"), Pair("b", "z\n")));
  EXPECT_THAT(script.commands.back().words, ElementsAre("run"));
}

TEST(ShellText, APromptIsNoWord) { EXPECT_THAT(words("$ a b"), ElementsAre("a", "b")); }

TEST(ShellText, EmptyTextHasNoWords) { EXPECT_THAT(words(" \n\t\\\n"), IsEmpty()); }

void expect_text_refused(const std::string& text, const std::string& part) {
  try {
    read_shell(text);
    FAIL() << "accepted: " << text.substr(0, 40);
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
  }
}

TEST(ShellText, OpenQuotesAndDocumentsAreRefused) {
  expect_text_refused("vllm serve 'x", "unclosed quote (')");
  expect_text_refused("vllm serve \"x", "unclosed quote (\")");
  expect_text_refused("cat <<EOF > a\nx", "the here-document 'EOF' is not terminated");
}

TEST(ShellText, WhatIsTooLongIsRefused) {
  expect_text_refused(std::string(std::size_t{1} << 20, 'a'), "1048576 bytes long");
  std::string doubling = "A=xxxxxxxx\n";
  for (int i = 0; i < 40; ++i) doubling += "A=$A$A\n";
  expect_text_refused(doubling, "expand without end");
}

TEST(ShellText, AQuotedWordIsReadBack) {
  for (const std::string word :
       {"plain-1.5", "two words", "it's", "", "$x `y` \"z\"", "{\"a\": 1}"}) {
    EXPECT_THAT(words("run " + shell_quoted(word)), ElementsAre("run", word));
  }
}

}  // namespace
}  // namespace roofcast::test

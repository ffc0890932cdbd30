// roofcast learn: the lesson as text, as a conversation, its glossary and its playground.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/learn/lesson_session.hpp"
#include "reports/document.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSmall = " --model gpt2 --gpu h100 --prompt 20 --generate 10";

LessonAnswer small_lesson() {
  static const LessonAnswer answer =
      learn({.deployment = {.model = "gpt2", .gpu = "h100"}, .prompt = 20, .generate = 10});
  return answer;
}

std::string held(LessonAnswer answer, const std::string& typed) {
  std::istringstream in(typed);
  std::ostringstream out;
  hold_lesson(answer, {.again = " --model gpt2"}, in, out);
  return out.str();
}

LessonAnswer one_step(const char* key) {
  LessonAnswer answer = small_lesson();
  answer.steps = std::vector<LessonStep>{*find_step(answer, key)};
  answer.teach_back.clear();
  return answer;
}

TEST(LearnCommand, PrintsAllStepsWithTheirAnswersWhereNobodyAnswers) {
  const CommandResult all = run_command(std::string("learn") + kSmall);
  EXPECT_EQ(all.exit_code, 0) << all.err;
  for (const LessonStep& step : small_lesson().steps) EXPECT_THAT(all.out, HasSubstr(step.title));
  EXPECT_THAT(all.out, AllOf(HasSubstr("Guess: What grows"),
                             HasSubstr("Answer: The text that goes through the model."),
                             HasSubstr("Teach it back")));
  std::istringstream lines(all.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 100U) << line;
}

TEST(LearnCommand, PrintsOneStep) {
  const CommandResult one = run_command(std::string("learn roofline") + kSmall);
  EXPECT_THAT(one.out, AllOf(HasSubstr("ridge point"), Not(HasSubstr("Guess 1"))));
  EXPECT_THAT(run_command(std::string("learn teach-back") + kSmall).out,
              HasSubstr("What is the ridge point?"));
  const CommandResult none = run_command(std::string("learn rofline") + kSmall);
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no step 'rofline', did you mean 'roofline'?"));
}

TEST(LearnCommand, PrintsEveryFigureOfAStep) {
  EXPECT_THAT(run_command(std::string("learn slo") + kSmall).out,
              AllOf(HasSubstr("Chat beside a batch job\n"), HasSubstr("Waiting over the load\n")));
}

TEST(LearnCommand, DoesNotSuggestWhatIsNotAlike) {
  EXPECT_THAT(run_command(std::string("learn foo") + kSmall).err,
              AllOf(HasSubstr("no step 'foo'"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(run_command(std::string("learn --step glossary") + kSmall).err,
              HasSubstr("roofcast learn glossary"));
}

TEST(LearnCommand, OtherFormatsHaveTheSame) {
  const auto parsed = nlohmann::json::parse(run_command(std::string("learn -o json") + kSmall).out);
  EXPECT_EQ(parsed["command"], "learn");
  EXPECT_EQ(parsed["steps"].size(), small_lesson().steps.size());
  EXPECT_THAT(run_command(std::string("learn cause -o md") + kSmall).out,
              HasSubstr("## Guess 4: the cause"));
}

TEST(LearnCommand, GlossaryExplainsOneTermSomeOrAll) {
  EXPECT_THAT(run_command("learn glossary ttft").out,
              AllOf(HasSubstr("TTFT\n"), HasSubstr("vllm:time_to_first_token_seconds"),
                    Not(HasSubstr("TPOT\n"))));
  EXPECT_THAT(run_command("learn glossary ridge point").out, HasSubstr("ridge point\n"));
  EXPECT_THAT(run_command("learn glossary cache").out,
              AllOf(HasSubstr("KV cache\n"), HasSubstr("prefix cache\n")));
  const std::string all = run_command("learn glossary").out;
  for (const GlossaryTerm& term : glossary()) EXPECT_THAT(all, HasSubstr(term.term + "\n"));
  const CommandResult unknown = run_command("learn glossary tftt");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no term 'tftt', did you mean 'TTFT'"));
}

TEST(LearnCommand, TheManualHasTheGlossary) {
  const std::string page = run_command("man").out;
  EXPECT_THAT(page, AllOf(HasSubstr(".SH GLOSSARY"), HasSubstr("\\fBKV cache\\fR")));
}

TEST(LearnCommand, SamplingTakesItsKnobs) {
  const CommandResult cold = run_command("learn sampling --temperature 0");
  EXPECT_THAT(cold.out, AllOf(HasSubstr("1 of 8 words"), HasSubstr("100.0 %")));
  EXPECT_THAT(run_command("learn sampling --top-k 2").out, HasSubstr("2 of 8 words"));
  for (const char* wrong : {"--temperature -1", "--temperature x", "--top-k 0", "--top-p 0",
                            "--top-p 1.1", "--temperature nan"}) {
    EXPECT_EQ(run_command(std::string("learn sampling ") + wrong).exit_code, 2) << wrong;
  }
}

TEST(LearnCommand, RefusesInOneLine) {
  for (const char* wrong :
       {"--model nosuch", "--gpu nosuch", "--prompt 0", "--prompt 1000000",
        "--model llama-3.1-405b --gpu h100", "--acceptance 2", "--num-speculative-tokens 0"}) {
    const CommandResult result = run_command(std::string("learn ") + wrong);
    EXPECT_NE(result.exit_code, 0) << wrong;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

// ---- as a conversation

TEST(LessonSession, AsksJudgesAndReveals) {
  const std::string said = held(one_step("grows"), "3\n\n");
  EXPECT_THAT(said, AllOf(HasSubstr("What grows"), HasSubstr("3  The text that goes"),
                          HasSubstr("Right."), HasSubstr("Added up over 10 steps")));
}

TEST(LessonSession, AWrongGuessIsToldSo) {
  const std::string said = held(one_step("grows"), "1\n\n");
  EXPECT_THAT(said, AllOf(HasSubstr("No: the text that goes through the model."),
                          Not(HasSubstr("Right."))));
}

TEST(LessonSession, AnEmptyLineSkipsAndNonsenseIsAskedAgain) {
  EXPECT_THAT(held(one_step("grows"), "\n\n"),
              AllOf(HasSubstr("Added up"), Not(HasSubstr("Right.")), Not(HasSubstr("No:")),
                    HasSubstr("The answer: The text that goes through the model.")));
  EXPECT_THAT(held(one_step("grows"), "9\nwhat\n3\n\n"),
              AllOf(HasSubstr("That is none of them"), HasSubstr("Right.")));
  EXPECT_THAT(held(one_step("roofline"), "many\n300\n\n"), HasSubstr("That is not a number"));
}

TEST(LessonSession, EndsPolitelyAtTheEndOfTheInput) {
  EXPECT_THAT(held(one_step("grows"), ""),
              AllOf(HasSubstr("roofcast learn grows --model gpt2 shows this step again"),
                    Not(HasSubstr("Added up"))));
}

TEST(LessonSession, GoesToTheLastQuestion) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "\n";
  const std::string said = held(small_lesson(), lines);
  EXPECT_THAT(said, AllOf(HasSubstr("16/16"), HasSubstr("Teach it back"),
                          HasSubstr("That was the lesson.")));
}

TEST(LessonSession, ShowsFiguresAsTablesWithBars) {
  EXPECT_THAT(held(one_step("shape"), "\n\n"),
              AllOf(HasSubstr("The staircase: time of each token"), HasSubstr("####")));
}

// The longest bar has 24 columns; half its height is 12.
TEST(LessonSession, BarsAreAsLongAsTheFirstSeriesIsHigh) {
  const Figure figure{.series = {{.name = "time", .points = {{.x = 1, .y = 2}, {.x = 2, .y = 4}}}},
                      .table = {.title = "", .columns = {{"Token"}}, .rows = {{"1"}, {"2"}}}};
  const Table table = table_with_bars(figure);
  EXPECT_EQ(table.rows[0].back().text, std::string(12, '#'));
  EXPECT_EQ(table.rows[1].back().text, std::string(24, '#'));
}

TEST(LessonSession, LinesBreakAtBlanks) {
  EXPECT_THAT(wrapped("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("unbreakable", 3), ElementsAre("unbreakable"));
  EXPECT_THAT(wrapped("", 3), ElementsAre(""));
}

}  // namespace
}  // namespace roofcast::test

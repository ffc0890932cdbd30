#include "planner/search/evaluations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <variant>

#include "base/error.hpp"

namespace roofcast {
namespace {

FigureQuestion question(std::size_t shape) { return {.shape = shape}; }

std::vector<FigureQuestion> numbered(std::size_t count) {
  std::vector<FigureQuestion> questions;
  for (std::size_t i = 0; i < count; ++i) questions.push_back(question(i));
  return questions;
}

/// Answers with ten times the shape's number, as a number of requests.
Figures ten_times(const FigureQuestion& asked) {
  return CandidateFigures{.requests = 10 * static_cast<std::int64_t>(asked.shape)};
}

std::vector<std::int64_t> requests_of(const std::optional<std::vector<Figures>>& answers) {
  std::vector<std::int64_t> requests;
  for (const Figures& one : answers.value()) {
    requests.push_back(std::get<CandidateFigures>(one).requests);
  }
  return requests;
}

TEST(Evaluations, AnswersStandInTheOrderOfTheQuestionsWhateverTheThreads) {
  const std::vector<FigureQuestion> questions = numbered(100);
  for (const int threads : {1, 2, 4}) {
    Evaluations evaluations(ten_times, {.threads = threads});
    const std::vector<std::int64_t> answers = requests_of(evaluations.answers(questions, {}));
    ASSERT_EQ(answers.size(), questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i) {
      EXPECT_EQ(answers[i], 10 * static_cast<std::int64_t>(i));
    }
  }
}

TEST(Evaluations, NoQuestionIsEvaluatedTwice) {
  std::atomic<int> calls{0};
  Evaluations evaluations(
      [&](const FigureQuestion& asked) {
        ++calls;
        return ten_times(asked);
      },
      {.threads = 2});
  const std::vector first{question(1), question(2), question(1)};
  const std::vector second{question(3), question(2)};
  EXPECT_EQ(requests_of(evaluations.answers(first, {})), (std::vector<std::int64_t>{10, 20, 10}));
  EXPECT_EQ(requests_of(evaluations.answers(second, {})), (std::vector<std::int64_t>{30, 20}));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(evaluations.evaluated(), 3);
}

TEST(Evaluations, QuestionsOfOtherKindsOrUnitsAreOthers) {
  Evaluations evaluations(
      [](const FigureQuestion& asked) -> Figures {
        if (asked.kind == FigureKind::trial) return CandidateFigures{.requests = asked.units};
        return FinalistFigures{.simulations = 7};
      },
      {});
  const std::vector<FigureQuestion> questions = {
      {.shape = 1, .units = 1},
      {.shape = 1, .units = 2},
      {.kind = FigureKind::finalist, .shape = 1, .units = 1}};
  const auto answers = evaluations.answers(questions, {}).value();
  EXPECT_EQ(std::get<CandidateFigures>(answers[0]).requests, 1);
  EXPECT_EQ(std::get<CandidateFigures>(answers[1]).requests, 2);
  EXPECT_EQ(std::get<FinalistFigures>(answers[2]).simulations, 7);
}

TEST(Evaluations, FiguresComeBackFromTheirTextsAsTheyWere) {
  const CandidateFigures trial{
      .verdict =
          {.holds = true,
           .unserved = 3,
           .margins = {{.what = "p95 TTFT", .limit_s = 0.5, .achieved_s = 0.1, .margin = 0.8}},
           .binding = Binding::target,
           .worst_margin = 0.8,
           .goodput_share = 1.0 / 3},
      .output_tokens_per_s = 0.1 + 0.2,
      .requests = 41};
  const std::string text = to_text(trial);
  const auto again = std::get<CandidateFigures>(parse_figures(FigureKind::trial, text));
  EXPECT_EQ(again.output_tokens_per_s, 0.1 + 0.2);
  EXPECT_EQ(again.verdict.goodput_share, 1.0 / 3);
  EXPECT_EQ(again.verdict.margins.at(0).what, "p95 TTFT");
  EXPECT_EQ(again.verdict.binding, Binding::target);
  EXPECT_EQ(to_text(again), text);
  FinalistFigures finalist{.capacity_factor = 1.7, .capacity_bounded = false, .simulations = 25};
  finalist.confidence.probability = 0.9;
  finalist.confidence.causes = {{.name = "step time", .flips_at = 2.5}, {.name = "KV capacity"}};
  finalist.cost = {.dollars_per_hour = 0.1 + 0.2, .joules_per_token = 1.0 / 3};
  finalist.utilisation = {{.pool = "prefill", .mfu = 0.1 + 0.2, .mbu = 1.0 / 3}};
  const std::string other = to_text(finalist);
  const auto kept = std::get<FinalistFigures>(parse_figures(FigureKind::finalist, other));
  EXPECT_EQ(kept.utilisation.at(0).mbu, 1.0 / 3);
  EXPECT_EQ(kept.cost, finalist.cost);
  EXPECT_EQ(to_text(kept), other);
}

TEST(Evaluations, QuestionsComeBackFromTheirTextsAsTheyWere) {
  const FigureQuestion asked{.kind = FigureKind::finalist, .shape = 12, .units = 3};
  EXPECT_EQ(question_text(asked, "abc"), "finalist 12 3 abc");
  EXPECT_EQ(parse_question("finalist 12 3 abc"), asked);
  EXPECT_FALSE(parse_question("wish 12 3 abc"));
  EXPECT_FALSE(parse_question("trial 12"));
}

/// The storage that outlives an Evaluations object, in memory.
struct Memory {
  std::map<std::string, std::string> answers{};
  int transactions = 0;

  KeptAnswers functions() {
    return {.find = [this](const std::string& question) -> std::optional<std::string> {
              const auto found = answers.find(question);
              if (found == answers.end()) return std::nullopt;
              return found->second;
            },
            .keep =
                [this](std::span<const AnsweredQuestion> given) {
                  ++transactions;
                  for (const auto& [question, answer] : given) answers[question] = answer;
                }};
  }
};

TEST(Evaluations, WhatAnEarlierRunHasKeptIsNotEvaluatedAgain) {
  Memory memory;
  { Evaluations(ten_times, {.kept = memory.functions()}).answers(numbered(3), {}); }
  EXPECT_EQ(memory.answers.size(), 3u);
  EXPECT_EQ(memory.transactions, 1);  // a second has not passed: all at the end
  Evaluations again(ten_times, {.kept = memory.functions()});
  EXPECT_EQ(requests_of(again.answers(numbered(5), {})),
            (std::vector<std::int64_t>{0, 10, 20, 30, 40}));
  EXPECT_EQ(again.evaluated(), 2);
}

TEST(Evaluations, WhatWasKeptOfOtherInputsIsEvaluatedAgain) {
  Memory memory;
  const auto of = [&](const char* digest) {
    return EvaluationOptions{.digest = digest, .kept = memory.functions()};
  };
  { Evaluations(ten_times, of("a")).answers(numbered(3), {}); }
  Evaluations other(ten_times, of("b"));
  other.answers(numbered(3), {});
  EXPECT_EQ(other.evaluated(), 3);
}

TEST(Evaluations, AnswersAreKeptWhileABatchIsUnderWay) {
  Memory memory;
  Evaluations evaluations(
      [](const FigureQuestion& asked) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return ten_times(asked);
      },
      {.kept = memory.functions(), .keep_every = std::chrono::milliseconds(20)});
  std::size_t kept_before_the_end = 0;
  evaluations.answers(numbered(12), [&](std::int64_t, std::int64_t) {
    kept_before_the_end = memory.answers.size();
    return true;
  });
  EXPECT_GT(kept_before_the_end, 0u);
}

TEST(Evaluations, AFailureIsThrownAndTheFirstQuestionThatFailsIsNamed) {
  const auto fails = [](const FigureQuestion& asked) {
    if (asked.shape == 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (asked.shape >= 2) throw Error(std::to_string(asked.shape) + " does not work");
    return ten_times(asked);
  };
  Memory memory;
  for (const int threads : {1, 4}) {
    Evaluations evaluations(fails, {.threads = threads, .kept = memory.functions()});
    try {
      evaluations.answers(numbered(9), {});
      FAIL() << "no failure";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "2 does not work");
    }
  }
  EXPECT_EQ(memory.answers.size(), 2u);  // 0 and 1: failures are not kept
}

TEST(Evaluations, WhatWasCutShortIsNeitherAFailureNorKept) {
  std::atomic<bool> ended = false;
  std::atomic<int> begun = 0;  // one thread may begin with either
  Memory memory;
  {
    Evaluations evaluations(
        [&](const FigureQuestion& asked) {
          if (begun++ == 0) return ten_times(asked);
          while (!ended) std::this_thread::yield();
          throw Error("cut short");
        },
        {.kept = memory.functions()});
    EXPECT_FALSE(evaluations.answers(numbered(2), [&](std::int64_t done, std::int64_t) {
      ended = done == 1;
      return !ended;
    }));
  }
  EXPECT_EQ(memory.answers.size(), 1u);
}

TEST(Evaluations, ProgressEndsTheWorkAndWhatWasAnsweredIsKept) {
  Memory memory;
  {
    Evaluations evaluations(
        [](const FigureQuestion& asked) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return ten_times(asked);
        },
        {.kept = memory.functions()});
    EXPECT_FALSE(evaluations.answers(numbered(10000),
                                     [&](std::int64_t done, std::int64_t) { return done < 5; }));
  }
  EXPECT_GE(memory.answers.size(), 5u);
  EXPECT_LT(memory.answers.size(), 10000u);  // which would take 10 s
}

}  // namespace
}  // namespace roofcast

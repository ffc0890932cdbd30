#include "planner/search/evaluations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "base/error.hpp"

namespace roofcast {
namespace {

std::string in_brackets(const std::string& question) { return "<" + question + ">"; }

std::vector<std::string> numbered(int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(std::to_string(i));
  return texts;
}

TEST(Evaluations, AnswersStandInTheOrderOfTheQuestionsWhateverTheThreads) {
  const std::vector<std::string> questions = numbered(100);
  for (const int threads : {1, 2, 4}) {
    Evaluations evaluations(in_brackets, {.threads = threads});
    const auto answers = evaluations.answers(questions, {});
    ASSERT_TRUE(answers);
    ASSERT_EQ(answers->size(), questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i) {
      EXPECT_EQ((*answers)[i], "<" + questions[i] + ">");
    }
  }
}

TEST(Evaluations, NoQuestionIsEvaluatedTwice) {
  std::atomic<int> calls{0};
  Evaluations evaluations(
      [&](const std::string& question) {
        ++calls;
        return in_brackets(question);
      },
      {.threads = 2});
  const std::vector<std::string> first{"a", "b", "a"};
  const std::vector<std::string> second{"c", "b"};
  EXPECT_EQ(evaluations.answers(first, {}), (std::vector<std::string>{"<a>", "<b>", "<a>"}));
  EXPECT_EQ(evaluations.answers(second, {}), (std::vector<std::string>{"<c>", "<b>"}));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(evaluations.evaluated(), 3);
}

/// What outlives an Evaluations, in memory.
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
  { Evaluations(in_brackets, {.kept = memory.functions()}).answers(numbered(3), {}); }
  EXPECT_EQ(memory.answers.size(), 3u);
  EXPECT_EQ(memory.transactions, 1);  // a second has not passed: all at the end
  Evaluations again(in_brackets, {.kept = memory.functions()});
  EXPECT_EQ(again.answers(numbered(5), {})->at(4), "<4>");
  EXPECT_EQ(again.evaluated(), 2);
}

TEST(Evaluations, AnswersAreKeptWhileABatchIsUnderWay) {
  Memory memory;
  Evaluations evaluations(
      [](const std::string& question) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return question;
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
  const auto fails = [](const std::string& question) {
    if (question == "2") std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (question >= "2") throw Error(question + " does not work");
    return question;
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
  EXPECT_EQ(memory.answers.size(), 2u);  // "0" and "1": failures are not kept
}

TEST(Evaluations, ProgressEndsTheWorkAndWhatWasAnsweredIsKept) {
  Memory memory;
  {
    Evaluations evaluations(
        [](const std::string& question) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return question;
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

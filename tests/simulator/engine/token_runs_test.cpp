#include "simulator/engine/token_runs.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

std::int64_t common(const std::vector<TokenRun>& a, const std::vector<TokenRun>& b) {
  return common_tokens(a, {}, b);
}

std::vector<TokenRun> runs_of(const Request& request, RequestId id,
                              const std::vector<ContentSpan>& contents, std::int64_t tokens) {
  return token_runs(request, id, contents, tokens);
}

TEST(TokenRuns, SequencesAgreeUntilTheirSpansPart) {
  const Request request{.input_tokens = 30, .output_tokens = 1};
  const auto a = runs_of(request, 0, {{1, 10}, {2, 20}}, 30);
  EXPECT_EQ(common(a, runs_of(request, 1, {{1, 10}, {2, 20}}, 30)), 30);
  EXPECT_EQ(common(a, runs_of(request, 1, {{1, 10}, {3, 20}}, 30)), 10);
  // The span is shorter there: what follows it is something else.
  EXPECT_EQ(common(a, runs_of(request, 1, {{1, 7}, {2, 20}}, 27)), 7);
  EXPECT_EQ(common(a, runs_of(request, 1, {{4, 10}, {2, 20}}, 30)), 0);
}

TEST(TokenRuns, WhatNoSpanCoversIsTheRequestsOwn) {
  const Request request{.input_tokens = 30, .output_tokens = 5};
  const auto a = runs_of(request, 0, {{1, 10}}, 34);
  EXPECT_EQ(common(a, runs_of(request, 0, {{1, 10}}, 32)), 32);
  EXPECT_EQ(common(a, runs_of(request, 1, {{1, 10}}, 34)), 10);
}

TEST(TokenRuns, GeneratedTokensContinueTheLastSpanWhereTheNextTurnRepeatsThem) {
  // The first turn: 30 tokens in, 5 out. The second turn's prompt begins with all 35.
  const Request first{.input_tokens = 30, .output_tokens = 5, .output_continues_prompt = true};
  const Request second{.input_tokens = 50, .output_tokens = 1};
  const auto prompt = runs_of(second, 1, {{1, 35}, {2, 15}}, 50);
  EXPECT_EQ(common(runs_of(first, 0, {{1, 30}}, 34), prompt), 34);
  const Request forgotten{.input_tokens = 30, .output_tokens = 5};
  EXPECT_EQ(common(runs_of(forgotten, 0, {{1, 30}}, 34), prompt), 30);
}

TEST(TokenRuns, ACursorCutsRunsAtAnyToken) {
  const std::vector<TokenRun> runs{{.content = 1, .at = 0, .tokens = 10},
                                   {.content = 2, .at = 5, .tokens = 10}};
  RunCursor cursor;
  skip_tokens(runs, cursor, 4);
  const auto taken = take_runs(runs, cursor, 8);  // 6 of the first run, 2 of the second
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].at, 4);
  EXPECT_EQ(taken[0].tokens, 6);
  EXPECT_EQ(taken[1].content, 2u);
  EXPECT_EQ(taken[1].at, 5);
  EXPECT_EQ(taken[1].tokens, 2);
  EXPECT_EQ(common_tokens(runs, cursor, std::vector<TokenRun>{{2, 7, 20}}), 8);
}

}  // namespace
}  // namespace roofcast::test

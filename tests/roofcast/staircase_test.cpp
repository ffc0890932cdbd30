#include "roofcast/staircase.hpp"

#include "tests/roofcast/read_back.hpp"

namespace roofcast {
namespace {

using ::testing::HasSubstr;

StaircaseQuestion question_of(std::int64_t prompt, std::int64_t generate) {
  return {.prompt = prompt, .generate = generate};
}

StaircaseQuestion timed(StaircaseQuestion question) {
  question.deployment = DeploymentOptions{.model = "llama-3.1-8b", .gpu = "h100"};
  return question;
}

void expect_round_trip(const StaircaseAnswer& answer) {
  test::read_back(answer, staircase_answer_from_json, staircase_answer_schema());
}

// 200 tokens after 500: naive 200 * 500 + 200 * 199 / 2 = 119,900 computations against 700; the
// prompt itself 500 * 501 / 2 = 125,250 positions.
TEST(StaircaseAnswer, CountsBothLoops) {
  const StaircaseAnswer answer = staircase(question_of(500, 200));
  EXPECT_EQ(answer.counts.naive_kv_computations, 119'900);
  EXPECT_EQ(answer.counts.cached_kv_computations, 700);
  EXPECT_DOUBLE_EQ(answer.counts.waste_factor, 119'900.0 / 700);
  EXPECT_DOUBLE_EQ(answer.counts.mean_attention_positions, 599.5);
  EXPECT_EQ(answer.prefill_attention_positions, 125'250);
  EXPECT_FALSE(answer.times);
  EXPECT_FALSE(to_json(answer).at("inputs").contains("model"));
  expect_round_trip(answer);
}

TEST(StaircaseAnswer, TimesEveryTokenOfADeployment) {
  const StaircaseAnswer answer = staircase(timed(question_of(50, 7)));
  ASSERT_TRUE(answer.times);
  ASSERT_TRUE(answer.inputs.deployment);
  EXPECT_EQ(answer.inputs.deployment->model, "llama-3.1-8b");
  EXPECT_EQ(answer.times->tokens.naive.size(), 7U);
  Seconds total;
  for (const Seconds time : answer.times->tokens.cached) total += time;
  EXPECT_NEAR(answer.times->tokens.cached_total.value, total.value, 1e-12);
  EXPECT_EQ(answer.times->flattened.size(), 3U);  // batches of 1, 8 and 64
  expect_round_trip(answer);
}

// With 4 drafts accepted at 0.5 each: (1 - 0.5^5) / (1 - 0.5) = 1.9375 tokens a step.
TEST(StaircaseAnswer, FlattensWithDrafts) {
  StaircaseQuestion question = timed(question_of(50, 7));
  question.acceptance = 0.5;
  const StaircaseAnswer answer = staircase(question);
  ASSERT_TRUE(answer.times);
  ASSERT_EQ(answer.times->flattened.size(), 6U);
  const FlattenedToken& last = answer.times->flattened.back();
  EXPECT_EQ(last.batch, 64);
  EXPECT_EQ(last.drafts, 4);
  EXPECT_DOUBLE_EQ(last.tokens_per_step, 1.9375);
  EXPECT_DOUBLE_EQ(last.per_token.value, last.step.value / (64 * 1.9375));
  expect_round_trip(answer);
}

TEST(StaircaseAnswer, NothingGeneratedTakesNoTime) {
  const StaircaseAnswer answer = staircase(timed(question_of(0, 0)));
  ASSERT_TRUE(answer.times);
  EXPECT_TRUE(answer.times->tokens.naive.empty());
  expect_round_trip(answer);
}

TEST(StaircaseAnswer, NamesTheKeyThatIsOutOfRange) {
  EXPECT_THAT(test::complaint([] { staircase(timed(question_of(1, kMaxTimedTokens + 1))); }),
              HasSubstr("generate: expected at most 1000000 tokens"));
  EXPECT_EQ(test::complaint([] { staircase(question_of(1, kMaxTimedTokens + 1)); }), "");
  EXPECT_EQ(test::complaint([] { staircase(question_of(-1, 1)); }),
            "prompt: expected 0 tokens or more");
  EXPECT_EQ(test::complaint([] { staircase(question_of(1, -1)); }),
            "generate: expected 0 tokens or more");
  StaircaseQuestion likely = timed(question_of(1, 1));
  likely.acceptance = 1.5;
  EXPECT_EQ(test::complaint([&] { staircase(likely); }),
            "acceptance: expected a share from 0 to 1");
}

}  // namespace
}  // namespace roofcast

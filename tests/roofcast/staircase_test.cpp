#include "roofcast/staircase.hpp"

#include "tests/roofcast/read_back.hpp"

namespace roofcast {
namespace {

using ::testing::HasSubstr;

StaircaseQuestion staircase_question_of(std::int64_t prompt, std::int64_t generate) {
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
  const StaircaseAnswer answer = staircase(staircase_question_of(500, 200));
  EXPECT_EQ(answer.counts.naive_kv_computations, 119'900);
  EXPECT_EQ(answer.counts.cached_kv_computations, 700);
  EXPECT_DOUBLE_EQ(answer.counts.waste_factor, 119'900.0 / 700);
  EXPECT_DOUBLE_EQ(answer.counts.mean_attention_positions, 599.5);
  EXPECT_EQ(answer.prefill_attention_positions, 125'250);
  EXPECT_EQ(answer.counts.needed_kv_computations, 699);
  EXPECT_FALSE(answer.grid);
  EXPECT_FALSE(answer.of_model);
  EXPECT_FALSE(answer.times);
  EXPECT_FALSE(to_json(answer).at("inputs").contains("model"));
  expect_round_trip(answer);
}

TEST(StaircaseAnswer, AShortSequenceHasAGrid) {
  const StaircaseAnswer answer = staircase(staircase_question_of(3, 4));
  ASSERT_TRUE(answer.grid);
  EXPECT_EQ(answer.grid->steps.size(), 4U);
  expect_round_trip(answer);
  EXPECT_TRUE(staircase(staircase_question_of(20, 5)).grid);   // 24 positions
  EXPECT_FALSE(staircase(staircase_question_of(20, 6)).grid);  // 25
  EXPECT_FALSE(staircase(staircase_question_of(20, 0)).grid);
}

// GPT-3 has 96 layers of 96 heads: 9,216 times 6,225 and 149, and the same waste factor.
TEST(StaircaseAnswer, CountsAllLayersAndHeadsOfAModel) {
  StaircaseQuestion question = staircase_question_of(100, 50);
  question.model = "gpt-3";
  const StaircaseAnswer answer = staircase(question);
  ASSERT_TRUE(answer.of_model);
  EXPECT_EQ(answer.of_model->layers, 96);
  EXPECT_EQ(answer.of_model->layer_heads, 9'216);
  EXPECT_EQ(answer.of_model->naive_kv_computations, 57'369'600);
  EXPECT_EQ(answer.of_model->needed_kv_computations, 1'373'184);
  EXPECT_DOUBLE_EQ(answer.counts.waste_factor, 41.5);
  EXPECT_FALSE(answer.times);
  EXPECT_EQ(answer.inputs.counted_model, "gpt-3");
  expect_round_trip(answer);
  // Llama-3.1-8B: 32 layers of 8 KV heads; DeepSeek-V3: 61 latents.
  question.model = "llama-3.1-8b";
  EXPECT_EQ(staircase(question).of_model->layer_heads, 256);
  question.model = "deepseek-v3";
  EXPECT_EQ(staircase(question).of_model->layer_heads, 61);
}

TEST(StaircaseAnswer, IsNoLongerThanTheModelsContext) {
  StaircaseQuestion question = staircase_question_of(2'000, 49);  // GPT-3: 2,048
  question.model = "gpt-3";
  EXPECT_EQ(
      test::complaint([&] { staircase(question); }),
      "`prompt` and `generate`: 2,049 tokens together, more than the longest context of gpt-3: "
      "2,048");
  question.generate = 48;
  EXPECT_EQ(test::complaint([&] { staircase(question); }), "");
  StaircaseQuestion on_gpu = staircase_question_of(1'024, 1);
  on_gpu.deployment = DeploymentOptions{.model = "gpt2", .gpu = "h100"};
  EXPECT_THAT(test::complaint([&] { staircase(on_gpu); }), HasSubstr("context of gpt2: 1,024"));
}

// 64 sequences of 8,192 tokens of Llama-3.1-8B take 64 x 8,192 x 131,072 bytes = 69 GB, beside 16
// GB of weights more than an H100 has; 8 take 8.6 GB.
TEST(StaircaseAnswer, ChecksTheMemoryOfABatch) {
  const StaircaseAnswer answer = staircase(timed(staircase_question_of(8'182, 10)));
  ASSERT_TRUE(answer.times);
  EXPECT_LT(answer.times->max_batch, 64);
  EXPECT_GE(answer.times->max_batch, 8);
  EXPECT_TRUE(answer.times->flattened[1].fits);
  EXPECT_FALSE(answer.times->flattened[2].fits);
  expect_round_trip(answer);
}

TEST(StaircaseAnswer, TimesEveryTokenOfADeployment) {
  const StaircaseAnswer answer = staircase(timed(staircase_question_of(50, 7)));
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
  StaircaseQuestion question = timed(staircase_question_of(50, 7));
  question.acceptance = 0.5;
  const StaircaseAnswer answer = staircase(question);
  ASSERT_TRUE(answer.times);
  ASSERT_EQ(answer.times->flattened.size(), 6U);
  const FlattenedRow& last = answer.times->flattened.back();
  EXPECT_EQ(last.batch, 64);
  EXPECT_EQ(last.drafts, 4);
  EXPECT_DOUBLE_EQ(last.tokens_per_step, 1.9375);
  EXPECT_DOUBLE_EQ(last.per_token.value, last.step.value / (64 * 1.9375));
  expect_round_trip(answer);
  question.draft_pass = Seconds{1e-3};  // four of them in a step
  const StaircaseAnswer costly = staircase(question);
  EXPECT_NEAR(costly.times->flattened.back().step.value, last.step.value + 4e-3, 1e-12);
  expect_round_trip(costly);
}

TEST(StaircaseAnswer, NothingGeneratedTakesNoTime) {
  const StaircaseAnswer answer = staircase(timed(staircase_question_of(0, 0)));
  ASSERT_TRUE(answer.times);
  EXPECT_TRUE(answer.times->tokens.naive.empty());
  expect_round_trip(answer);
}

TEST(StaircaseAnswer, NamesTheKeyThatIsOutOfRange) {
  EXPECT_THAT(
      test::complaint([] { staircase(timed(staircase_question_of(1, kMaxTimedTokens + 1))); }),
      HasSubstr("generate: expected at most 1000000 tokens"));
  EXPECT_EQ(test::complaint([] { staircase(staircase_question_of(1, kMaxTimedTokens + 1)); }), "");
  EXPECT_EQ(test::complaint([] { staircase(staircase_question_of(-1, 1)); }),
            "prompt: expected 0 tokens or more");
  EXPECT_EQ(test::complaint([] { staircase(staircase_question_of(1, -1)); }),
            "generate: expected 0 tokens or more");
  StaircaseQuestion likely = timed(staircase_question_of(1, 1));
  likely.acceptance = 1.5;
  EXPECT_EQ(test::complaint([&] { staircase(likely); }),
            "`acceptance`: expected a share from 0 to 1");
  StaircaseQuestion idle = timed(staircase_question_of(1, 1));
  idle.draft_pass = Seconds{1e-3};
  EXPECT_EQ(test::complaint([&] { staircase(idle); }), "`draft_pass_time`: requires `acceptance`");
}

}  // namespace
}  // namespace roofcast

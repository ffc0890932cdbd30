// On the CPU: what it answers, never how fast.
#include "roofcast/measure.hpp"

#include <nlohmann/json.hpp>

#include "tests/roofcast/read_back.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// `batch` requests of 8 tokens in and 4 out on the first layer of GPT-2.
MeasureQuestion tiny(std::int64_t batch) {
  MeasureQuestion question;
  question.scenario.deployment.model = "gpt2";
  question.scenario.workload = SyntheticWorkload{.num_prompts = batch,
                                                 .request_rate = kAllAtOnce,
                                                 .input = fixed_length(8),
                                                 .output = fixed_length(4)};
  question.layers = 1;
  question.batch = batch;
  question.threads = 1;
  question.warm_ups = 0;
  question.repeats = 1;
  return question;
}

TEST(MeasureAnswer, ReadsBackAsItWasWritten) {
  MeasureQuestion question = tiny(1);
  question.naive = true;
  const MeasureAnswer answer = measure(question).value();
  const MeasureAnswer read = read_back(answer, measure_answer_from_json, measure_answer_schema());
  EXPECT_EQ(read.inputs.layers, 1);
  EXPECT_EQ(read.completed, 1);
  // One step for the prompt, three for the tokens after the first.
  EXPECT_EQ(read.steps, 4);
  EXPECT_EQ(read.textbook.value().decode_steps, 3);
  EXPECT_TRUE(read.ttft);
  EXPECT_THAT(read.staircase.value().naive, SizeIs(4));
  EXPECT_THAT(read.staircase.value().naive_predicted, SizeIs(0));
  EXPECT_FALSE(read.prediction);
}

TEST(MeasureAnswer, RepeatsBothLoopsAndComparesTheirTokens) {
  MeasureQuestion question = tiny(1);
  question.naive = true;
  question.warm_ups = 1;
  question.repeats = 3;
  question.scenario.deployment.weight_format = "fp32";
  std::int64_t last = 0, total = 0;
  const MeasureAnswer answer = measure(question, [&](std::int64_t done, std::int64_t of) {
                                 EXPECT_GE(done, last);
                                 last = done;
                                 total = of;
                                 return true;
                               }).value();
  EXPECT_EQ(total, 8);  // a request in (1 + 3) runs of two loops
  EXPECT_EQ(last, 8);
  EXPECT_EQ(answer.repeats, 3);
  EXPECT_EQ(answer.warm_ups, 1);
  EXPECT_EQ(answer.textbook.value().decode_steps, 9);  // three in each of three runs
  const MeasuredStaircase staircase = answer.staircase.value();
  ASSERT_THAT(staircase.naive_p75, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_LE(staircase.naive_p25[i], staircase.naive[i]);
    EXPECT_LE(staircase.naive[i], staircase.naive_p75[i]);
    EXPECT_LE(staircase.cached_p25[i], staircase.cached[i]);
    EXPECT_LE(staircase.cached[i], staircase.cached_p75[i]);
  }
  EXPECT_EQ(staircase.equal_tokens, 4);
  read_back(answer, measure_answer_from_json, measure_answer_schema());
}

TEST(MeasureRow, NamesTheEngineThatRanInItsScenario) {
  const auto engine_of = [](const MeasureQuestion& question) {
    const MeasureOutcome outcome = measure_with_requests(question, {}).value();
    const auto run = measure_row(outcome.measurement, "roofcast measure", false);
    return nlohmann::json::parse(run.row.scenario_json)["engine"].get<std::string>();
  };
  MeasureQuestion question = tiny(1);
  question.scenario.deployment.engine.clear();  // as flags leave it
  EXPECT_EQ(engine_of(question), "roofcast");
  question.scenario.deployment.engine = "static";
  EXPECT_EQ(engine_of(question), "static");
}

TEST(MeasureAnswer, IsNothingWhenItWasCancelled) {
  EXPECT_FALSE(measure(tiny(2), [](std::int64_t, std::int64_t) { return false; }));
}

TEST(MeasureAnswer, OfAModelBeyondTheDeviceIsAnError) {
  MeasureQuestion question = tiny(1);
  question.device = "abacus";
  EXPECT_THAT(complaint([&] { measure(question); }), HasSubstr("abacus"));
}

}  // namespace
}  // namespace roofcast::test

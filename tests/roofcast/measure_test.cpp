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
  question.scenario.model = "gpt2";
  question.scenario.workload = SyntheticWorkload{.num_prompts = batch,
                                                 .request_rate = kAllAtOnce,
                                                 .input = fixed_length(8),
                                                 .output = fixed_length(4)};
  question.layers = 1;
  question.batch = batch;
  question.threads = 1;
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

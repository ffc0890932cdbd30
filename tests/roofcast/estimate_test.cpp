#include "roofcast/estimate.hpp"

#include <algorithm>
#include <tuple>

#include "tests/roofcast/read_back.hpp"

namespace roofcast {
namespace {

EstimateQuestion question_of(const std::string& model, const std::string& gpu) {
  EstimateQuestion question;
  question.deployment.model = model;
  question.deployment.gpu = gpu;
  return question;
}

Seconds sum(const std::vector<OperatorAnswer>& operators) {
  Seconds total;
  for (const OperatorAnswer& part : operators) total += part.time;
  return total;
}

void expect_round_trip(const EstimateAnswer& answer) {
  test::read_back(answer, estimate_answer_from_json, estimate_answer_schema());
}

TEST(Estimate, RatesFollowFromTimes) {
  EstimateQuestion question = question_of("llama-3.1-8b", "h100");
  question.batch = 4;
  question.input_tokens = 512;
  question.output_tokens = 16;
  const EstimateAnswer answer = estimate(question);
  // The first token of each comes out of its prefill, so 15 decode steps follow.
  const double whole_s = answer.prefill.value + 15 * answer.decode_step.value;
  EXPECT_NEAR(answer.output_tokens_per_s, 4 * 16 / whole_s, 1e-9 * answer.output_tokens_per_s);
  EXPECT_NEAR(answer.decode_tokens_per_s, 4 / answer.decode_step.value,
              1e-9 * answer.decode_tokens_per_s);
  // 989.4 TFLOP/s over 3.35 TB/s.
  EXPECT_NEAR(answer.ridge.value, 989.4e12 / 3.35e12, 1e-9);
  EXPECT_TRUE(answer.fits);
  expect_round_trip(answer);
}

// 2 * 80 layers * 8 KV heads * 128 * 2 bytes = 327,680 bytes a token; 4,096 tokens: 1.34 GB.
TEST(Estimate, VariantsHoldTheCacheOfTheSequences) {
  EstimateQuestion question = question_of("llama-2-70b", "h200");
  question.input_tokens = 3968;
  question.output_tokens = 128;
  const EstimateAnswer answer = estimate(question);
  ASSERT_EQ(answer.variants.size(), 6U);
  EXPECT_EQ(answer.variants.front().name, "as given");
  EXPECT_DOUBLE_EQ(answer.variants.front().cache_bytes.value, 327'680.0 * 4096);
  EXPECT_EQ(answer.variants.back().name, "fp8 weights and KV cache");
  EXPECT_DOUBLE_EQ(answer.variants.back().cache_bytes.value, 327'680.0 / 2 * 4096);
  EXPECT_EQ(answer.variants.front().prefill, answer.prefill);
  EXPECT_EQ(answer.variants.front().decode_step, answer.decode_step);
}

TEST(Estimate, OperatorsAndHostMakeUpTheStep) {
  const EstimateAnswer answer = estimate(question_of("llama-3.1-8b", "h100"));
  for (const auto& [operators, host, step] :
       {std::tuple{answer.operators.prefill, answer.host.prefill, answer.step.prefill},
        std::tuple{answer.operators.decode, answer.host.decode, answer.step.decode}}) {
    ASSERT_FALSE(operators.empty());
    const Seconds total = sum(operators) + host;
    EXPECT_NEAR(total.value, step.value, 1e-9 * step.value);
    for (const OperatorAnswer& part : operators) {
      ASSERT_EQ(part.intensity.has_value(), part.bytes.value > 0) << part.name;
      if (part.intensity) {
        EXPECT_DOUBLE_EQ(part.intensity->value, part.flops.value / part.bytes.value);
      }
    }
  }
  const EstimateAnswer back = estimate_answer_from_json(to_json(answer));
  EXPECT_NEAR(back.step.decode.value, answer.step.decode.value, 1e-9 * answer.step.decode.value);
}

// 70.6 B parameters in 16 bits do not fit in 85 GB, which times do not mind.
TEST(Estimate, SaysThatSequencesDoNotFit) {
  const EstimateAnswer answer = estimate(question_of("llama-3.1-70b", "h100"));
  EXPECT_FALSE(answer.fits);
  EXPECT_EQ(answer.fitting_sequences, 0);
  EXPECT_GT(answer.decode_step.value, 0);
  expect_round_trip(answer);
}

TEST(Estimate, RoundTripsEveryKindOfOperator) {
  EstimateQuestion experts = question_of("deepseek-v3", "h200");
  experts.deployment.parallel.tensor = 8;
  experts.deployment.parallel.expert_parallel = true;
  expect_round_trip(estimate(experts));
  EstimateQuestion calibrated =
      question_of("llama-3.1-8b", ROOFCAST_SOURCE_DIR "/tests/golden/profiles/imaginary-gpu.json");
  const EstimateAnswer measured = estimate(calibrated);
  const auto& operators = measured.operators.decode;
  EXPECT_TRUE(std::any_of(operators.begin(), operators.end(), [](const OperatorAnswer& part) {
    return part.provenance != Provenance::fitted && part.provenance != Provenance::datasheet;
  }));
  expect_round_trip(measured);
}

TEST(Estimate, NamesTheKeyThatIsOutOfRange) {
  EstimateQuestion question = question_of("llama-3.1-8b", "h100");
  question.batch = 0;
  EXPECT_EQ(test::complaint([&] { estimate(question); }), "batch: expected 1 to 1000000, found 0");
  question.batch = 1;
  question.output_tokens = 0;
  EXPECT_EQ(test::complaint([&] { estimate(question); }),
            "output_tokens: expected 1 to 1000000000, found 0");
}

}  // namespace
}  // namespace roofcast

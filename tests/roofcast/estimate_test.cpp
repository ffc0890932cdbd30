#include "roofcast/estimate.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/roofcast/read_back.hpp"

namespace roofcast {
namespace {

EstimateQuestion estimate_question_of(const std::string& model, const std::string& gpu) {
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
  EstimateQuestion question = estimate_question_of("llama-3.1-8b", "h100");
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

TEST(Estimate, CostsItsGpusForAsLongAsItTakes) {
  EstimateQuestion question = estimate_question_of("llama-3.1-70b", "h100");
  question.deployment.parallel.tensor = 4;
  question.batch = 8;
  question.input_tokens = 900;
  question.output_tokens = 100;
  const EstimateAnswer answer = estimate(question);
  const ServingCost& cost = answer.cost;
  // Four at $4.50 for the tokens of an hour; 9 prompt tokens come with each that is generated.
  EXPECT_DOUBLE_EQ(cost.dollars_per_hour.value(), 18);
  const double per_million = 18 * 1e6 / (answer.output_tokens_per_s * 3600);
  EXPECT_NEAR(cost.dollars_per_million_output_tokens.value(), per_million, 1e-9 * per_million);
  EXPECT_NEAR(cost.dollars_per_million_tokens.value(), per_million / 10, 1e-9 * per_million);
  // 700 W each at the limit, and more than idling (0.17 of it).
  EXPECT_DOUBLE_EQ(cost.board_power_w.value(), 2800);
  EXPECT_GT(cost.mean_power_w.value(), 0.17 * 2800);
  EXPECT_LT(cost.mean_power_w.value(), 2800);
  const double joules = cost.mean_power_w.value() / answer.output_tokens_per_s;
  EXPECT_NEAR(cost.joules_per_output_token.value(), joules, 1e-9 * joules);
  EXPECT_NEAR(cost.joules_per_token.value(), joules / 10, 1e-9 * joules);
  // A larger batch shares the reads of the weights: less energy and money a token.
  question.batch = 64;
  const ServingCost larger = estimate(question).cost;
  EXPECT_LT(larger.joules_per_output_token.value(), cost.joules_per_output_token.value());
  EXPECT_GT(larger.mean_power_w.value(), cost.mean_power_w.value());
  EXPECT_LT(larger.dollars_per_million_tokens.value(), cost.dollars_per_million_tokens.value());
}

// 2 * 80 layers * 8 KV heads * 128 * 2 bytes = 327,680 bytes a token; 4,096 tokens: 1.34 GB.
TEST(Estimate, VariantsHoldTheCacheOfTheSequences) {
  EstimateQuestion question = estimate_question_of("llama-2-70b", "h200");
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

// One matrix product of 32 layers at 32 tokens, bf16: 3.5 us of floor a call (floors_s.gemm), then
// 86.2 % of the limit (efficiency.gemm.bf16 at 32), which is memory: 32 x 4096 x 28672 weights of 2
// bytes, and half of the activations, 32 x 32 x (4096 + 28672) values of 2 bytes, at 3.35 TB/s.
TEST(Estimate, OperatorsShowTheFloorAndEfficiencyOfTheProfile) {
  EstimateQuestion question = estimate_question_of("llama-3.1-8b", "h100");
  question.batch = 32;
  const EstimateAnswer answer = estimate(question);
  const auto found =
      std::ranges::find(answer.operators.decode, "mlp.gate_up_proj", &OperatorAnswer::name);
  ASSERT_NE(found, answer.operators.decode.end());
  ASSERT_TRUE(found->floor && found->efficiency);
  EXPECT_NEAR(found->floor->value, 32 * 3.5e-6, 1e-12);
  EXPECT_NEAR(*found->efficiency, 0.862, 1e-9);
  const double bytes = 32.0 * 4096 * 28672 * 2 + 32.0 * 32 * (4096 + 28672);
  EXPECT_NEAR(found->time.value, 32 * 3.5e-6 + bytes / 3.35e12 / 0.862, 1e-9);
}

TEST(Estimate, OperatorsAndHostMakeUpTheStep) {
  const EstimateAnswer answer = estimate(estimate_question_of("llama-3.1-8b", "h100"));
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
  const EstimateAnswer answer = estimate(estimate_question_of("llama-3.1-70b", "h100"));
  EXPECT_FALSE(answer.fits);
  EXPECT_EQ(answer.fitting_sequences, 0);
  EXPECT_GT(answer.decode_step.value, 0);
  expect_round_trip(answer);
}

// 0.16 of SGLang on AMD's GPUs is in both uncertainties; nothing is known of it on NVIDIA's.
TEST(Estimate, SaysHowFarVersionsOfTheEngineDiffer) {
  EstimateQuestion question = estimate_question_of("llama-3.1-8b", "mi300x");
  question.deployment.engine = "sglang";
  const EstimateAnswer amd = estimate(question);
  EXPECT_DOUBLE_EQ(amd.version_relative_uncertainty.value(), 0.16);
  EXPECT_GT(amd.decode_relative_uncertainty, 0.16);
  EXPECT_LT(amd.decode_relative_uncertainty, 0.60);
  expect_round_trip(amd);
  EXPECT_EQ(amd.version_basis, VersionBasis::fastest);
  question.deployment.gpu = "h100";
  EXPECT_FALSE(estimate(question).version_relative_uncertainty);
  EXPECT_FALSE(estimate(question).version_basis);
}

// SGLang 0.5.7 on MI300X has 61 products of at least 117 us (version_terms.cpp), which later
// versions have tuned: with their kernels the decode step is that of 0.5.12.
TEST(Estimate, SaysWhatTunedKernelsWouldAllow) {
  EstimateQuestion question = estimate_question_of("deepseek-r1", "mi300x");
  question.deployment.parallel.tensor = 8;
  question.batch = 4;
  question.output_tokens = 8;
  question.deployment.engine = "sglang-0.5.7";
  const EstimateAnswer untuned = estimate(question);
  EXPECT_THAT(headline(untuned.inputs.deployment), testing::EndsWith(", sglang-0.5.7"));
  EXPECT_EQ(untuned.version_basis, VersionBasis::slower_kernels);
  EXPECT_EQ(untuned.tuned_kernels, "the newest sglang");
  expect_round_trip(untuned);
  question.deployment.engine = "sglang-0.5.12";
  const EstimateAnswer tuned = estimate(question);
  EXPECT_DOUBLE_EQ(untuned.tuned_decode_step.value().value, tuned.decode_step.value);
  EXPECT_LT(tuned.decode_step.value, 0.9 * untuned.decode_step.value);
  EXPECT_FALSE(tuned.tuned_kernels);
  EXPECT_FALSE(tuned.tuned_decode_step);
  // Tables of 1.2 and 1.3 answer on B200.
  question = estimate_question_of("deepseek-r1", "b200");
  question.deployment.parallel.tensor = 8;
  question.deployment.engine = "trtllm-1.2";
  const EstimateAnswer tables = estimate(question);
  EXPECT_THAT(tables.tuned_kernels.value(), testing::StartsWith("TRTLLM 1.3"));
  question.deployment.engine = "trtllm";
  EXPECT_FALSE(estimate(question).tuned_kernels);
}

TEST(Estimate, SaysThatNoServerOfAModelWasCompared) {
  EstimateQuestion question = estimate_question_of("qwen3-30b-a3b", "b200");
  question.deployment.engine = "sglang";
  const EstimateAnswer answer = estimate(question);
  EXPECT_DOUBLE_EQ(answer.model_relative_uncertainty.value(), 0.62);
  EXPECT_GT(answer.prefill_relative_uncertainty, 0.62);
  expect_round_trip(answer);
  question.deployment.engine = "vllm";
  EXPECT_FALSE(estimate(question).model_relative_uncertainty);
}

// TensorRT-LLM captures decodes of 1 to 32, 64 and 128 sequences and pads none to the next.
EstimateQuestion tensorrt_question() {
  EstimateQuestion question = estimate_question_of("qwen3-32b", "h100");
  question.deployment.parallel.tensor = 8;
  question.deployment.engine = "trtllm-1.2";
  question.output_tokens = 8;
  return question;
}

TEST(Estimate, SaysWhatAGraphWouldSaveOfADecodeBeyondTheLargest) {
  EstimateQuestion question = tensorrt_question();
  question.batch = 128;
  EXPECT_FALSE(estimate(question).uncaptured_decode);
  question.batch = 129;
  const EstimateAnswer answer = estimate(question);
  ASSERT_TRUE(answer.uncaptured_decode);
  EXPECT_EQ(answer.uncaptured_decode->sequences, 129);
  EXPECT_EQ(answer.uncaptured_decode->largest_graph, 128);
  EXPECT_EQ(answer.uncaptured_decode->knob, "cuda_graph_max_bs");
  EXPECT_EQ(answer.uncaptured_decode->value, "129");
  expect_round_trip(answer);
  question.deployment.overrides.cuda_graph_max_bs = 129;
  const EstimateAnswer captured = estimate(question);
  EXPECT_EQ(answer.uncaptured_decode->decode_step, captured.decode_step);
  EXPECT_LT(captured.decode_step, answer.decode_step * 0.95);
  EXPECT_FALSE(captured.uncaptured_decode);
}

TEST(Estimate, SaysWhatPaddingToAGraphWouldSave) {
  EstimateQuestion question = tensorrt_question();
  question.batch = 32;
  EXPECT_FALSE(estimate(question).uncaptured_decode);
  question.batch = 33;
  const EstimateAnswer answer = estimate(question);
  ASSERT_TRUE(answer.uncaptured_decode);
  EXPECT_EQ(answer.uncaptured_decode->sequences, 33);
  EXPECT_EQ(answer.uncaptured_decode->knob, "cuda_graph_padding");
  EXPECT_EQ(answer.uncaptured_decode->value, "on");
  question.deployment.overrides.cuda_graph_padding = true;
  const EstimateAnswer padded = estimate(question);
  EXPECT_EQ(answer.uncaptured_decode->decode_step, padded.decode_step);
  EXPECT_FALSE(padded.uncaptured_decode);
}

TEST(Estimate, ChangesTheListOfGraphsThatWasGiven) {
  EstimateQuestion question = tensorrt_question();
  question.deployment.overrides.cuda_graph_batch_sizes = {{1, 4, 16}};
  question.batch = 20;
  const EstimateAnswer answer = estimate(question);
  ASSERT_TRUE(answer.uncaptured_decode);
  EXPECT_EQ(answer.uncaptured_decode->largest_graph, 16);
  EXPECT_EQ(answer.uncaptured_decode->knob, "cuda_graph_batch_sizes");
  EXPECT_EQ(answer.uncaptured_decode->value, "1,4,16,20");
  question.batch = 8;  // below the largest: padding is the shorter change
  EXPECT_EQ(estimate(question).uncaptured_decode.value().knob, "cuda_graph_padding");
}

// 66 sequences on two ranks are 33 on each.
TEST(Estimate, CountsTheGraphsOfADataParallelRank) {
  EstimateQuestion question = tensorrt_question();
  question.deployment.parallel = {.tensor = 4, .data = 2};
  question.batch = 66;
  EXPECT_EQ(estimate(question).uncaptured_decode.value().sequences, 33);
  question.batch = 64;
  EXPECT_FALSE(estimate(question).uncaptured_decode);
}

TEST(Estimate, SaysNothingOfGraphsThatWouldChangeNothing) {
  const auto is_told = [](const EstimateQuestion& question) {
    return estimate(question).uncaptured_decode.has_value();
  };
  EstimateQuestion question = tensorrt_question();
  question.batch = 33;
  question.deployment.overrides.enforce_eager = true;
  EXPECT_FALSE(is_told(question));
  // The engine runs 32 at once.
  question = tensorrt_question();
  question.batch = 33;
  question.deployment.overrides.max_num_seqs = 32;
  EXPECT_FALSE(is_told(question));
  // vLLM captures up to 512 of its 1,024 sequences. Reading the weights of 70 billion parameters
  // takes 42 ms (141 GB at 3.35 TB/s), launching some 1,000 compiled kernels at 5 us each less.
  question = estimate_question_of("llama-3.1-70b", "h100");
  question.output_tokens = 8;
  question.batch = 600;
  EXPECT_FALSE(is_told(question));
  // More than any engine may capture: 65,536.
  question = tensorrt_question();
  question.deployment.overrides.max_num_seqs = 70'000;
  question.batch = 70'000;
  question.input_tokens = 1;
  question.output_tokens = 2;
  EXPECT_FALSE(is_told(question));
}

// vLLM lists 1, 2, 4 and then multiples of 8: up to 9 the last is 8.
TEST(Estimate, NamesALargestGraphThatHoldsTheDecode) {
  EstimateQuestion question = estimate_question_of("qwen3-0.6b", "b200");
  question.deployment.parallel.tensor = 8;
  question.output_tokens = 8;
  question.input_tokens = 16;
  question.deployment.overrides.cuda_graph_max_bs = 4;
  question.batch = 9;
  const EstimateAnswer answer = estimate(question);
  ASSERT_TRUE(answer.uncaptured_decode);
  EXPECT_EQ(answer.uncaptured_decode->largest_graph, 4);
  EXPECT_EQ(answer.uncaptured_decode->value, "64");
}

TEST(Estimate, RoundTripsEveryKindOfOperator) {
  EstimateQuestion experts = estimate_question_of("deepseek-v3", "h200");
  experts.deployment.parallel.tensor = 8;
  experts.deployment.parallel.expert_parallel = true;
  expect_round_trip(estimate(experts));
  EstimateQuestion calibrated = estimate_question_of(
      "llama-3.1-8b", ROOFCAST_SOURCE_DIR "/tests/golden/profiles/imaginary-gpu.json");
  const EstimateAnswer measured = estimate(calibrated);
  const auto& operators = measured.operators.decode;
  EXPECT_TRUE(std::any_of(operators.begin(), operators.end(), [](const OperatorAnswer& part) {
    return part.provenance != Provenance::fitted && part.provenance != Provenance::datasheet;
  }));
  expect_round_trip(measured);
}

// GPT-2 has 1,024 positions; a simulation rejects longer requests, too.
TEST(Estimate, RefusesSequencesLongerThanTheModels) {
  EstimateQuestion question = estimate_question_of("gpt2", "h100");
  question.input_tokens = 1000;
  question.output_tokens = 24;
  EXPECT_TRUE(estimate(question).fits);
  question.output_tokens = 25;
  EXPECT_EQ(test::complaint([&] { estimate(question); }),
            "`input_len`: 1000 and 25 output tokens are longer than `max_model_len`, 1024 tokens");
  question.deployment.engine = "textbook";  // counts bytes, whatever the length
  question.deployment.overrides.max_model_len = 2048;
  EXPECT_GT(estimate(question).decode_step.value, 0);
}

// Two ranks hold twice as many sequences as one.
TEST(Estimate, FitsWhatAllDataParallelRanksHold) {
  EstimateQuestion question = estimate_question_of("llama-3.1-8b", "h100");
  const std::int64_t one = *estimate(question).fitting_sequences;
  question.deployment.parallel.data = 2;
  question.batch = 2 * one;
  const EstimateAnswer answer = estimate(question);
  EXPECT_EQ(answer.fitting_sequences, 2 * one);
  EXPECT_TRUE(answer.fits);
}

TEST(Estimate, SummaryAgreesWithTheRest) {
  EstimateQuestion question = estimate_question_of("llama-2-7b", "a100-80gb");
  question.batch = 16;
  const EstimateAnswer answer = estimate(question);
  const auto& [prefill, decode] = answer.summary;
  EXPECT_EQ(prefill.time, answer.prefill);
  EXPECT_EQ(decode.time, answer.decode_step);
  EXPECT_EQ(prefill.mfu, answer.mfu);
  EXPECT_EQ(decode.mbu, answer.mbu);
  EXPECT_LE(decode.lower_bound, decode.time);
  EXPECT_LE(prefill.lower_bound, prefill.time);
  EXPECT_DOUBLE_EQ(decode.tokens_per_s, answer.decode_tokens_per_s);
  EXPECT_DOUBLE_EQ(prefill.tokens_per_s, 16 * 1024 / answer.prefill.value);
  double flops = 0, bytes = 0;
  for (const OperatorAnswer& part : answer.operators.decode) {
    flops += part.flops.value;
    bytes += part.bytes.value;
  }
  EXPECT_NEAR(decode.whole.flops.value, flops, 1e-9 * flops);
  EXPECT_NEAR(decode.whole.bytes.value, bytes, 1e-9 * bytes);
  EXPECT_NEAR(decode.whole.intensity->value, flops / bytes, 1e-9 * flops / bytes);
}

BatchesQuestion batches_of(const EstimateQuestion& question, std::vector<std::int64_t> batches,
                           std::vector<std::int64_t> input_tokens) {
  return {.deployment = question.deployment,
          .batches = std::move(batches),
          .input_tokens = std::move(input_tokens),
          .output_tokens = question.output_tokens};
}

TEST(EstimateBatches, RowsAreTheSingleEstimates) {
  EstimateQuestion question = estimate_question_of("llama-3.1-8b", "h100");
  const BatchesAnswer answer = estimate_batches(batches_of(question, {1, 8}, {100, 1000}));
  ASSERT_EQ(answer.rows.size(), 4U);
  for (const BatchRow& row : answer.rows) {
    question.batch = row.batch;
    question.input_tokens = row.input_tokens;
    const EstimateAnswer one = estimate(question);
    ASSERT_TRUE(row.summary);
    EXPECT_EQ(row.summary->decode.time, one.decode_step);
    EXPECT_EQ(row.summary->prefill.time, one.prefill);
    EXPECT_EQ(row.cost, one.cost);
    // 2 x 32 layers x 8 KV heads x 128 x 2 bytes = 131,072 bytes a token, in blocks of 16 tokens.
    const auto blocks = static_cast<double>((row.input_tokens + 128 + 15) / 16);
    EXPECT_DOUBLE_EQ(row.cache.value, static_cast<double>(row.batch) * blocks * 16 * 131'072);
  }
  EXPECT_EQ(answer.rows[1].batch, 8);
  EXPECT_EQ(answer.rows[2].input_tokens, 1000);
  test::read_back(answer, batches_answer_from_json, batches_answer_schema());
}

TEST(EstimateBatches, SayWhichDecodesNoGraphHolds) {
  EstimateQuestion question = tensorrt_question();
  const BatchesAnswer answer = estimate_batches(batches_of(question, {32, 33}, {100}));
  EXPECT_FALSE(answer.rows[0].uncaptured_decode);
  question.batch = 33;
  question.input_tokens = 100;
  EXPECT_EQ(answer.rows[1].uncaptured_decode.value().decode_step,
            estimate(question).uncaptured_decode.value().decode_step);
  test::read_back(answer, batches_answer_from_json, batches_answer_schema());
}

TEST(EstimateBatches, EndWhereMemoryEnds) {
  const EstimateQuestion question = estimate_question_of("llama-2-7b", "a100-80gb");
  const BatchesAnswer answer = estimate_batches(batches_of(question, {1, 100'000}, {1024}));
  ASSERT_EQ(answer.contexts.size(), 1U);
  const std::int64_t most = answer.contexts.front().max_batch;
  const BatchesAnswer edge = estimate_batches(batches_of(question, {most, most + 1}, {1024}));
  EXPECT_TRUE(edge.rows[0].fits);
  EXPECT_TRUE(edge.rows[0].summary);
  EXPECT_FALSE(edge.rows[1].fits);
  EXPECT_FALSE(edge.rows[1].summary);
  EXPECT_FALSE(answer.rows[1].summary);
  EXPECT_TRUE(is_yes(answer));
  test::read_back(answer, batches_answer_from_json, batches_answer_schema());
}

TEST(EstimateBatches, OfAModelThatDoesNotFitAreNone) {
  const BatchesAnswer answer =
      estimate_batches(batches_of(estimate_question_of("llama-2-70b", "a100-80gb"), {1, 2}, {128}));
  EXPECT_FALSE(is_yes(answer));
  EXPECT_EQ(answer.contexts.front().max_batch, 0);
  // Figures that depend on the shapes alone hold all the same.
  EXPECT_TRUE(answer.contexts.front().compute_bound.products);
}

TEST(EstimateBatches, NameTheListThatIsWrong) {
  const EstimateQuestion question = estimate_question_of("llama-3.1-8b", "h100");
  const auto complaint = [&](std::vector<std::int64_t> batches,
                             std::vector<std::int64_t> input_tokens) {
    return test::complaint([&] { estimate_batches(batches_of(question, batches, input_tokens)); });
  };
  EXPECT_EQ(complaint({}, {1}), "batch: expected at least one");
  EXPECT_EQ(complaint({1, 2, 1}, {1}), "batch: 1 is given twice");
  EXPECT_EQ(complaint({1}, {-1}), "input_tokens: expected 1 to 1000000000, found -1");
  EXPECT_EQ(complaint({1}, {1, 131'072}),
            "`input_len`: 131072 and 128 output tokens are longer than `max_model_len`, 131072 "
            "tokens");
}

TEST(Estimate, NamesTheKeyThatIsOutOfRange) {
  EstimateQuestion question = estimate_question_of("llama-3.1-8b", "h100");
  question.batch = 0;
  EXPECT_EQ(test::complaint([&] { estimate(question); }), "batch: expected 1 to 1000000, found 0");
  question.batch = 1;
  question.output_tokens = 0;
  EXPECT_EQ(test::complaint([&] { estimate(question); }),
            "output_tokens: expected 1 to 1000000000, found 0");
}

}  // namespace
}  // namespace roofcast

#include "roofcast/memory.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "base/error.hpp"
#include "roofcast/question_flags.hpp"
#include "tests/roofcast/read_back.hpp"

namespace roofcast {
namespace {

using Solve = MemoryQuestion::Solve;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

MemoryQuestion memory_question_of(const std::string& model, const std::string& gpu,
                                  int tensor = 1) {
  MemoryQuestion question;
  question.deployment.model = model;
  question.deployment.gpu = gpu;
  question.deployment.parallel.tensor = tensor;
  return question;
}

void expect_round_trip(const MemoryAnswer& answer) {
  test::read_back(answer, memory_answer_from_json, memory_answer_schema());
}

// LLaMA-2-70B: 80 layers, 8 KV heads of 128, K and V in 16 bits: 2 * 80 * 8 * 128 * 2 = 327,680
// bytes a token, and 1.34 GB for a sequence of 4,096. Tensor parallelism of 4 leaves two KV heads
// and a quarter of the bytes to each GPU; vLLM's block has 16 tokens.
TEST(Memory, BlocksHoldTheKvCacheOfTheModel) {
  const MemoryAnswer answer = memory(memory_question_of("llama-2-70b", "h100", 4));
  EXPECT_TRUE(answer.fits);
  EXPECT_TRUE(is_yes(answer));
  EXPECT_FALSE(answer.reason);
  EXPECT_EQ(answer.block_tokens, 16);
  EXPECT_EQ(answer.block_bytes.value * 4, 16 * 327'680);
  EXPECT_EQ(max_model_len(answer.inputs), 4096);
  EXPECT_EQ(answer.kv_tokens, answer.kv_blocks * 16);
  // One block is set aside; a sequence of 4,096 tokens takes 256 of them, 1,342,177,280 bytes over
  // the four GPUs.
  EXPECT_EQ(answer.max_batch, (answer.kv_blocks - 1) / 256);
  EXPECT_EQ(256 * answer.block_bytes.value * 4, 1'342'177'280);
  expect_round_trip(answer);
}

// Llama-3.1-8B keeps 131,072 bytes a token; HiCache's pool holds `hicache_ratio` times the GPU's
// tokens on each rank, and SGLang leaves 10 GiB of the host's memory free
// (HICACHE_HOST_MEMORY_RESERVE_BYTES).
TEST(Memory, CountsTheHostMemoryOfAHierarchicalCache) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.deployment.engine = "sglang";
  EngineOverrides& knobs = question.deployment.overrides;
  knobs.enable_hierarchical_cache = true;
  knobs.hicache_ratio = 4;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.host);
  const double rank = 4.0 * 131'072 * static_cast<double>(answer.kv_tokens);
  EXPECT_DOUBLE_EQ(answer.host->of_rank.value, rank);
  EXPECT_DOUBLE_EQ(answer.host->of_node.value, rank + 10 * kGiB);
  expect_round_trip(answer);
  knobs.host_memory = answer.host->of_node;
  EXPECT_TRUE(memory(question).fits);
  knobs.host_memory = answer.host->of_node - Bytes{1e9};
  const MemoryAnswer refused = memory(question);
  EXPECT_FALSE(refused.fits);
  EXPECT_THAT(refused.reason.value_or(""), HasSubstr("--hicache-ratio 3.9"));
  // As two data-parallel ranks on one node: both pools must fit.
  question.deployment.parallel.data = 2;
  knobs.host_memory = {};
  EXPECT_DOUBLE_EQ(memory(question).host->of_node.value,
                   2 * memory(question).host->of_rank.value + 10 * kGiB);
}

// SGLang takes a page (one token here) and a decode's slot beside a request's tokens: of 2,000
// tokens of cache a request gets 1,998. vLLM does not start with less than the context.
TEST(Memory, SaysWhatSglangServesWithLessThanTheContext) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.deployment.engine = "sglang";
  EngineOverrides& knobs = question.deployment.overrides;
  EXPECT_FALSE(memory(question).longest_request);
  knobs.num_gpu_blocks_override = 2000;
  const MemoryAnswer answer = memory(question);
  EXPECT_FALSE(answer.fits);
  EXPECT_FALSE(is_yes(answer));
  EXPECT_EQ(answer.longest_request, 1998);
  expect_round_trip(answer);
  knobs.max_model_len = 4096;  // asked for, so it has to fit
  EXPECT_FALSE(memory(question).longest_request);
  knobs.max_model_len.reset();
  question.deployment.engine = "vllm";
  EXPECT_FALSE(memory(question).fits);
  EXPECT_FALSE(memory(question).longest_request);
}

// vLLM's --kv-offloading-size is that of all TP x PP ranks of one engine: two data-parallel ranks
// of TP 2 take 64 GiB each, 32 GiB a GPU.
TEST(Memory, CountsTheHostMemoryOfOffloadedKAndV) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100", 2);
  question.deployment.parallel.data = 2;
  question.deployment.overrides.kv_offloading_size = Bytes{64 * kGiB};
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.host);
  EXPECT_DOUBLE_EQ(answer.host->of_rank.value, 32 * kGiB);
  EXPECT_DOUBLE_EQ(answer.host->of_node.value, 128 * kGiB);
  question.deployment.overrides.host_memory = Bytes{127 * kGiB};
  EXPECT_FALSE(memory(question).fits);
}

// Qwen3-8B's LM head is 151,936 x 4,096 in 16 bits: 1,244,659,712 bytes, which a model that pools
// does not load. Nor is it profiled with the sampler's pass over that vocabulary.
TEST(Memory, AModelThatPoolsHasNoLmHead) {
  MemoryQuestion question = memory_question_of("qwen3-8b", "h100");
  const MemoryAnswer whole = memory(question);
  question.deployment.overrides.pooling = true;
  const MemoryAnswer pooling = memory(question);
  const auto weights = [](const MemoryAnswer& answer) {
    double sum = 0;
    for (const MemoryTerm& term : answer.terms) {
      if (kind_of(term) == TermKind::weights) sum += term.bytes.value;
    }
    return sum;
  };
  EXPECT_NEAR(weights(whole) - weights(pooling), 1'244'659'712, 1);
  EXPECT_GT(pooling.kv_budget.value - whole.kv_budget.value, 1'244'659'712);
}

// Llama-3.1-8B: an adapter of rank 16 takes 80 MiB (tests/model/memory/parallel_memory_test.cpp),
// an EAGLE head the weights of a layer, (4096 x 6144 + 4096 x 4096 + 3 x 4096 x 14336 + 2 x 4096) x
// 2 bytes, whatever share of its drafts is accepted.
TEST(Memory, CountsAdaptersAndDrafts) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  const auto bytes_of = [&](const char* name) {
    const MemoryAnswer answer = memory(question);
    const auto term = std::ranges::find(answer.terms, name, &MemoryTerm::name);
    return term == answer.terms.end() ? 0.0 : term->bytes.value;
  };
  question.deployment.overrides.max_lora_rank = 16;
  question.deployment.overrides.max_loras = 4;
  EXPECT_EQ(bytes_of("weights.lora"), 4 * 80.0 * 1024 * 1024);
  question.deployment.overrides = {.num_speculative_tokens = 3,
                                   .speculative_method = DraftMethod::eagle};
  EXPECT_EQ(bytes_of("weights.draft"),
            2 * (4096.0 * 6144 + 4096.0 * 4096 + 3 * 4096.0 * 14336 + 2 * 4096));
  for (const char* name : {"max-lora-rank", "max-loras", "num-speculative-tokens",
                           "speculative-method", "draft-weight-bytes", "draft-kv-bytes"}) {
    EXPECT_NE(find_flag(memory_feature_flags(), name), nullptr) << name;
  }
}

TEST(Memory, RefusesFeaturesThatTakeNoMemory) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  const auto refused = [&](const EngineOverrides& given) -> std::string {
    question.deployment.overrides = given;
    try {
      refuse_idle_flags(given, question);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused({.max_loras = 4}), HasSubstr("max_lora_rank"));
  EXPECT_THAT(refused({.num_speculative_tokens = 3}), HasSubstr("take no memory"));
  EXPECT_EQ(refused({.num_speculative_tokens = 3, .speculative_method = DraftMethod::eagle}), "");
  EXPECT_EQ(refused({.max_loras = 4, .max_lora_rank = 8}), "");
}

TEST(Memory, ListsTheLargestBatchByContext) {
  const MemoryAnswer answer = memory(memory_question_of("llama-3.1-8b", "h100"));
  ASSERT_TRUE(answer.max_batch_by_context);
  // 1,024 and each four times longer, up to the model's 131,072.
  std::vector<std::int64_t> contexts;
  for (const ContextBatch& row : *answer.max_batch_by_context) {
    contexts.push_back(row.context_tokens);
  }
  EXPECT_THAT(contexts, ::testing::ElementsAre(1024, 4096, 16384, 65536, 131072));
  EXPECT_EQ(answer.max_batch_by_context->back().max_batch, answer.max_batch);
  EXPECT_FALSE(answer.solution);
  EXPECT_THAT(answer.remedies, IsEmpty());
}

// 137.95 GB of 16-bit weights are more than the 85 GB of one H100.
TEST(Memory, SaysWhyItDoesNotFitAndWhatWould) {
  const MemoryAnswer answer = memory(memory_question_of("llama-2-70b", "h100"));
  EXPECT_FALSE(answer.fits);
  EXPECT_FALSE(is_yes(answer));
  EXPECT_THAT(answer.reason.value_or(""), Not(IsEmpty()));
  EXPECT_FALSE(answer.max_batch_by_context);
  ASSERT_THAT(answer.remedies, Not(IsEmpty()));
  EXPECT_THAT(answer.remedies.back().flag, HasSubstr("--tensor-parallel-size"));
  expect_round_trip(answer);
}

TEST(Memory, SolvesForTheBatch) {
  MemoryQuestion question = memory_question_of("llama-2-70b", "h100", 4);
  question.solve = Solve::batch;
  question.context = 2048;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.solution);
  EXPECT_EQ(answer.solution->batch, (answer.kv_blocks - 1) / 128);  // each of 2,048 / 16 blocks
  EXPECT_EQ(answer.solution->context_tokens, std::optional<std::int64_t>(2048));
  EXPECT_TRUE(is_yes(answer));
  expect_round_trip(answer);
}

TEST(Memory, ABatchOfNoneIsNo) {
  MemoryQuestion question = memory_question_of("llama-2-70b", "h100");
  question.solve = Solve::batch;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.solution);
  EXPECT_EQ(answer.solution->batch, 0);
  EXPECT_FALSE(is_yes(answer));
  expect_round_trip(answer);
}

TEST(Memory, SolvesForTheContext) {
  MemoryQuestion question = memory_question_of("llama-2-70b", "h100", 4);
  question.solve = Solve::context;
  question.batch = 200;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.solution && answer.solution->context_tokens);
  const std::optional<std::int64_t> context = *answer.solution->context_tokens;
  ASSERT_TRUE(context);
  // Fewer of the model's 4,096 tokens fit; and with one token more they no longer do.
  EXPECT_LT(*context, 4096);
  question.solve = Solve::batch;
  question.batch.reset();
  question.context = *context;
  EXPECT_GE(memory(question).solution->batch, 200);
  question.context = *context + 1;
  EXPECT_LT(memory(question).solution->batch, 200);
  EXPECT_TRUE(is_yes(answer));
  expect_round_trip(answer);
}

TEST(Memory, NoContextIsNo) {
  MemoryQuestion question = memory_question_of("llama-2-70b", "h100");
  question.solve = Solve::context;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.solution && answer.solution->context_tokens);
  EXPECT_FALSE(*answer.solution->context_tokens);
  EXPECT_FALSE(is_yes(answer));
  EXPECT_TRUE(to_json(answer).at("solution").at("context_tokens").is_null());
  EXPECT_EQ(memory_answer_from_json(to_json(answer)).solve, Solve::context);
  expect_round_trip(answer);
}

// Two H100s leave a few GiB each beside 64.2 GiB of weights: a sequence of 0.67 GB a GPU fits.
TEST(Memory, SolvesForTensorParallelism) {
  MemoryQuestion question = memory_question_of("llama-2-70b", "h100");
  question.solve = Solve::tensor_parallel;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.solution);
  EXPECT_EQ(answer.solution->tensor_parallel, std::optional<int>(2));
  EXPECT_EQ(answer.inputs.parallel.tensor, 2);
  EXPECT_TRUE(is_yes(answer));
  EXPECT_EQ(memory_answer_from_json(to_json(answer)).solve, Solve::tensor_parallel);
  expect_round_trip(answer);
}

// A million sequences of 1.34 GB are more than 64 GPUs of 85 GB hold.
TEST(Memory, NoTensorParallelismIsNo) {
  MemoryQuestion question = memory_question_of("llama-2-70b", "h100");
  question.solve = Solve::tensor_parallel;
  question.batch = 1'000'000;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.solution && answer.solution->tensor_parallel);
  EXPECT_FALSE(*answer.solution->tensor_parallel);
  EXPECT_FALSE(is_yes(answer));
  expect_round_trip(answer);
}

// The utilisation that is found holds the batch, and a hundredth less does not.
TEST(Memory, SolvesForTheUtilization) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.solve = Solve::utilization;
  question.batch = 16;
  question.context = 8192;
  const MemoryAnswer answer = memory(question);
  expect_round_trip(answer);
  ASSERT_TRUE(answer.solution && answer.solution->utilization && *answer.solution->utilization);
  const double share = **answer.solution->utilization;
  question.solve = Solve::none;
  question.deployment.overrides.gpu_memory_utilization = share;
  EXPECT_TRUE(is_yes(memory(question)));
  question.deployment.overrides.gpu_memory_utilization = share - 0.01;
  EXPECT_FALSE(is_yes(memory(question)));
}

TEST(Memory, NoUtilizationIsNo) {
  MemoryQuestion question = memory_question_of("llama-3.1-70b", "h100");
  question.solve = Solve::utilization;
  const MemoryAnswer answer = memory(question);
  EXPECT_FALSE(is_yes(answer));
  expect_round_trip(answer);
}

// As many sequences of 8,192 tokens as run fit at once, and one more would not.
TEST(Memory, SolvesForMaxNumSeqs) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.solve = Solve::max_num_seqs;
  question.context = 8192;
  const MemoryAnswer answer = memory(question);
  expect_round_trip(answer);
  ASSERT_TRUE(answer.solution && answer.solution->max_num_seqs && *answer.solution->max_num_seqs);
  const std::int64_t most = **answer.solution->max_num_seqs;
  question.solve = Solve::none;
  for (const std::int64_t sequences : {most, most + 1}) {
    question.deployment.overrides.max_num_seqs = sequences;
    question.batch = sequences;
    EXPECT_EQ(is_yes(memory(question)), sequences == most) << sequences;
  }
}

// The tokens of a step limit the sequences of vLLM alone: 32 tokens of Llama-3.1-8B take 4 MiB, so
// that some 14,000 fit into the 57 GiB that TensorRT-LLM leaves on an H100.
TEST(Memory, MaxNumSeqsOfOtherEnginesIsNotLimitedByTheTokensOfAStep) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.solve = Solve::max_num_seqs;
  question.context = 32;
  const auto most = [&](const char* engine) {
    question.deployment.engine = engine;
    const MemoryAnswer answer = memory(question);
    return answer.solution.value_or(MemorySolution{}).max_num_seqs.value_or(0).value_or(0);
  };
  EXPECT_EQ(most("vllm-0.19"), 8192);
  const std::int64_t trtllm = most("trtllm");
  question.solve = Solve::none;
  question.deployment.overrides.max_num_seqs = trtllm;
  question.batch = trtllm;
  EXPECT_GT(trtllm, 10'000);
  EXPECT_TRUE(is_yes(memory(question)));
  question.batch = trtllm + 1;
  EXPECT_FALSE(is_yes(memory(question)));
}

TEST(Memory, NamesTheKeyThatIsWrong) {
  MemoryQuestion question = memory_question_of("llama-2-70b", "h100");
  question.batch = 0;
  EXPECT_EQ(test::complaint([&] { memory(question); }), "batch: expected 1 sequence or more");
  question.batch.reset();
  question.context = -1;
  EXPECT_EQ(test::complaint([&] { memory(question); }), "context: expected 0 tokens or more");
}

TEST(Memory, RefusesAnotherQuestionsAnswer) {
  Json json = to_json(memory(memory_question_of("llama-3.1-8b", "h100")));
  json["command"] = "estimate";
  EXPECT_EQ(test::complaint([&] { memory_answer_from_json(json); }),
            "command: expected memory, found 'estimate'");
  json["command"] = "memory";
  json["terms"][0].erase("bytes");
  EXPECT_EQ(test::complaint([&] { memory_answer_from_json(json); }),
            "terms.0.bytes: expected a value, but the key is missing");
  json = to_json(memory(memory_question_of("llama-3.1-8b", "h100")));
  json["schema_version"] = kOutputSchemaVersion + 1;
  EXPECT_THAT(test::complaint([&] { memory_answer_from_json(json); }),
              HasSubstr("schema_version: expected"));
}

/// Two A100 of 80 GB with 140 GB of weights and 3 GB of overhead, as course texts reckon.
MemoryQuestion two_a100() {
  MemoryQuestion question = memory_question_of("llama-2-70b", "a100-80gb", 2);
  question.deployment.engine = "textbook";
  question.deployment.overrides.weight_bytes = Bytes{140e9};
  question.deployment.overrides.overhead = Bytes{1.5e9};
  question.context = 4096;
  return question;
}

// 160 GB - 140 GB - 3 GB leave 17 GB. K and V of one token are 327,680 bytes, of 4,096 tokens
// 1,342,177,280: 12.67 sequences fit, that is 12.
TEST(Memory, SaysWhetherABatchFitsAndWhatIsLeft) {
  MemoryQuestion question = two_a100();
  question.batch = 12;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.asked);
  const BatchMemory& asked = *answer.asked;
  EXPECT_EQ(asked.gpus, 2);
  EXPECT_EQ(asked.kv_bytes_per_token.value, 327'680);
  EXPECT_EQ(asked.kv_bytes_per_sequence.value, 1'342'177'280);
  EXPECT_EQ(asked.one_gpu.weights.value * 2, 140e9);
  EXPECT_EQ(asked.one_gpu.overhead.value * 2, 3e9);
  EXPECT_EQ(asked.one_gpu.kv_cache.value * 2, 12 * 1'342'177'280.0);
  EXPECT_NEAR((asked.one_gpu.left + asked.one_gpu.kv_cache).value * 2, 17e9, 1);
  EXPECT_EQ(asked.max_batch, 12);
  EXPECT_TRUE(asked.fits);
  EXPECT_TRUE(is_yes(answer));
  expect_round_trip(answer);
}

TEST(Memory, NamesABatchThatFitsWhereTheOneAskedForDoesNot) {
  MemoryQuestion question = two_a100();
  question.batch = 13;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.asked);
  EXPECT_FALSE(answer.asked->fits);
  EXPECT_FALSE(is_yes(answer));
  EXPECT_NEAR(answer.asked->one_gpu.left.value * 2, 17e9 - 13 * 1'342'177'280.0, 1);
  std::vector<std::string> flags;
  for (const Remedy& remedy : answer.remedies) flags.push_back(remedy.flag);
  EXPECT_THAT(flags, ::testing::Contains("--batch 12"));
  EXPECT_THAT(flags, ::testing::Contains("--kv-cache-dtype fp8"));
  expect_round_trip(answer);
}

// 32 layers; LLaMA-2-7B has 32 KV heads of 128 (524,288 bytes a token), Mistral-7B 8 of them.
TEST(Memory, OfABatchIsThatOfItsTokens) {
  for (const auto& [model, gib] : {std::pair("llama-2-7b", 64.0), std::pair("mistral-7b", 16.0)}) {
    MemoryQuestion question = memory_question_of(model, "h200");
    question.deployment.engine = "textbook";
    question.batch = 32;
    question.context = 4096;
    EXPECT_DOUBLE_EQ(to_gib(memory(question).asked.value().one_gpu.kv_cache), gib) << model;
  }
}

// LLaMA-3.1-70B has 70,553,706,496 parameters of 2 bytes: 141,107,412,992 of weights. The textbook
// rule divides the 80e9 bytes of an H100, keeps none, and 3e9 are overhead: 64,107,412,992 are
// missing before the first sequence. Eight of 4,096 tokens add 8 x 4,096 x 327,680.
TEST(Memory, CountsWhatIsMissingForWeightsAsWell) {
  MemoryQuestion question = memory_question_of("llama-3.1-70b", "h100");
  question.deployment.engine = "textbook";
  question.deployment.overrides.overhead = Bytes{3e9};
  question.deployment.overrides.gpu_memory_utilization = 1.0;
  question.batch = 8;
  question.context = 4096;
  const MemoryAnswer answer = memory(question);
  const BatchMemory& asked = answer.asked.value();
  EXPECT_FALSE(asked.fits);
  EXPECT_EQ(asked.one_gpu.weights.value, 141'107'412'992.0);
  EXPECT_EQ(asked.one_gpu.kv_cache.value, 10'737'418'240.0);
  EXPECT_NEAR(asked.one_gpu.left.value, -(64'107'412'992.0 + 10'737'418'240.0), 1);
  EXPECT_NEAR(asked.one_gpu.reserve.value, 0, 1);
  expect_round_trip(answer);
}

// CUDA graphs take memory whether the rule subtracts them before it sizes the cache or has them
// captured from its reserve.
TEST(Memory, NamesTheKindOfEachTerm) {
  for (const char* engine : {"vllm-0.19", "vllm"}) {
    MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
    question.deployment.engine = engine;
    const Json json = to_json(memory(question));
    std::map<std::string, std::string> kinds;
    for (const Json& term : json.at("terms")) kinds[term.at("name")] = term.at("kind");
    EXPECT_EQ(kinds.at("weights.attention"), "weights") << engine;
    EXPECT_EQ(kinds.at("activation_peak"), "activations") << engine;
    EXPECT_EQ(kinds.at("non_torch"), "overhead") << engine;
    EXPECT_EQ(kinds.at("cuda_graphs"), "overhead") << engine;
    EXPECT_EQ(kinds.at("kv_cache"), "kv_cache") << engine;
    EXPECT_EQ(kinds.at("unused"), "kv_cache") << engine;
    EXPECT_EQ(kinds.at("reserve"), "reserve") << engine;
  }
}

// The same under every rule: the parts sum to the memory, nothing else is negative, and what is
// missing is what the plan calls missing and the batch together. On two stages of 40 layers each
// is short: on both together more than on one.
TEST(Memory, MissesWhatThePlanMissesAndTheBatch) {
  MemoryQuestion question = memory_question_of("llama-3.1-70b", "h100");
  question.batch = 8;
  question.context = 4096;
  for (const int stages : {1, 2}) {
    question.deployment.parallel.pipeline = stages;
    for (const char* engine : {"vllm", "sglang", "trtllm", "textbook"}) {
      if (stages == 2) question.deployment.gpu = "l40s";
      question.deployment.engine = engine;
      const MemoryAnswer answer = memory(question);
      const BatchMemory& asked = answer.asked.value();
      const MemoryParts& m = asked.one_gpu;
      double short_by = 0;
      for (const MemoryTerm& term : answer.terms) {
        if (term.name == "shortfall") short_by = term.bytes.value;
      }
      ASSERT_LT(short_by, 0) << engine;
      EXPECT_NEAR(m.left.value, short_by - 10'737'418'240.0 / stages, 1) << engine;
      EXPECT_NEAR((m.weights + m.activations + m.overhead + m.reserve + m.kv_cache + m.left).value,
                  m.memory.value, 1)
          << engine;
      EXPECT_GT(m.reserve.value, -1) << engine;
      const MemoryParts& all = asked.all_gpus;
      EXPECT_NEAR(all.left.value, stages * m.left.value, 16) << engine;
      EXPECT_GT(all.reserve.value, -16) << engine;
      EXPECT_FALSE(asked.fits) << engine;
    }
  }
}

// The rule keeps no reserve where the cache is as large as was said: 79 GiB of memory without
// 131 GiB of weights.
TEST(Memory, KeepsNoReserveForAGivenCache) {
  MemoryQuestion question = memory_question_of("llama-3.1-70b", "h100");
  question.deployment.overrides.kv_cache_memory = Bytes{2 * kGiB};
  question.context = 4096;
  const MemoryAnswer answer = memory(question);
  const MemoryParts& m = answer.asked.value().one_gpu;
  EXPECT_NEAR(m.reserve.value, 0, 1);
  EXPECT_NEAR(m.left.value,
              (m.memory - m.weights - m.activations - m.overhead).value - 1'342'177'280.0, 1);
}

TEST(Memory, RemediesAnswerTheBatchThatWasAsked) {
  MemoryQuestion question = memory_question_of("llama-3.1-70b", "h100");
  question.batch = 8;
  question.context = 4096;
  const MemoryAnswer answer = memory(question);
  ASSERT_FALSE(answer.remedies.empty());
  for (const Remedy& remedy : answer.remedies) {
    const bool shortens = remedy.flag.find("--context") != std::string::npos;
    EXPECT_THAT(remedy.effect,
                ::testing::HasSubstr(shortens ? "tokens that 8 sequences can hold each"
                                              : " sequences of 4,096 tokens at most"))
        << remedy.flag;
  }
}

TEST(Memory, ComparesTheRulesOfAllEngines) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.deployment.engine = "all";
  question.batch = 8;
  question.context = 8192;
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.engines);
  EXPECT_EQ(answer.engines->size(), 4U);
  for (const EngineMemory& row : *answer.engines) {
    ASSERT_TRUE(row.memory) << row.engine << row.refused.value_or("");
    const MemoryParts& m = row.memory->one_gpu;
    EXPECT_NEAR((m.weights + m.activations + m.overhead + m.reserve + m.kv_cache + m.left).value,
                m.memory.value, 1)
        << row.engine;
    // 8 x 8,192 x 131,072 bytes are whole blocks of 16, 32 or 1 token.
    EXPECT_EQ(m.kv_cache.value, 8.0 * 8192 * 131'072) << row.engine;
    EXPECT_TRUE(row.memory->fits) << row.engine;
  }
  expect_round_trip(answer);
}

// LLaMA-3.1-8B in bf16: 8,030,261,248 parameters of 2 bytes. On three stages vLLM puts 11, 11 and
// 10 of the 32 layers, of 218,112,000 parameters each. The first stage also holds the embedding of
// 128,256 x 4,096, and is the fullest: the last one has the LM head of that size and a norm of
// 4,096, but a layer less. K and V of 4,096 tokens take 4,096 x 4,096 bytes a layer, so those of
// two sequences 2 x 11 x 16,777,216 on the fullest GPU and 2 x 32 x 16,777,216 on all.
TEST(Memory, OfAllGpusCountsWhatEachStageHolds) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.deployment.parallel.pipeline = 3;
  question.batch = 2;
  question.context = 4096;
  for (const char* engine : {"textbook", "sglang"}) {
    question.deployment.engine = engine;
    const MemoryAnswer answer = memory(question);
    const BatchMemory& asked = answer.asked.value();
    const MemoryParts& all = asked.all_gpus;
    EXPECT_EQ(asked.one_gpu.weights.value, 2 * (11 * 218'112'000.0 + 128'256 * 4096.0)) << engine;
    EXPECT_EQ(all.weights.value, 2 * 8'030'261'248.0) << engine;
    EXPECT_EQ(asked.one_gpu.kv_cache.value, 2 * 11 * 16'777'216.0) << engine;
    EXPECT_NEAR(all.kv_cache.value, 2 * 32 * 16'777'216.0, 1) << engine;
    EXPECT_EQ(asked.kv_bytes_per_sequence.value, 32 * 16'777'216.0) << engine;
    EXPECT_EQ(all.memory.value, 3 * asked.one_gpu.memory.value) << engine;
    EXPECT_NEAR(
        (all.weights + all.activations + all.overhead + all.reserve + all.kv_cache + all.left)
            .value,
        all.memory.value, 1)
        << engine;
    expect_round_trip(answer);
  }
}

// A block is the null block; what the KV budget as given leaves is not for sequences either.
TEST(Memory, LeavesWhatTheBlocksLeave) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.deployment.overrides.num_gpu_blocks_override = 1001;
  question.context = 4096;
  for (const std::int64_t batch : {3, 4}) {
    question.batch = batch;
    const MemoryAnswer answer = memory(question);
    const BatchMemory& asked = answer.asked.value();
    // 1,000 blocks of 16 tokens hold 3 sequences of 256 blocks and 232 blocks more.
    EXPECT_EQ(asked.max_batch, 3);
    EXPECT_EQ(asked.fits, batch == 3);
    EXPECT_EQ(asked.one_gpu.left.value,
              (1000.0 - 256.0 * static_cast<double>(batch)) * 16 * 131'072);
    expect_round_trip(answer);
  }
}

TEST(Memory, SpreadsABatchOverDataParallelRanks) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.context = 4096;
  const std::int64_t one = memory(question).asked.value().max_batch;
  question.deployment.parallel.data = 2;
  question.batch = 2 * one;
  EXPECT_TRUE(memory(question).asked.value().fits);
  EXPECT_EQ(memory(question).asked.value().gpus, 2);
  question.batch = 2 * one + 1;
  EXPECT_FALSE(memory(question).asked.value().fits);
}

TEST(Memory, ComparesEnginesForAKnobThatOneOfThemHas) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.deployment.engine = "all";
  question.deployment.overrides.overhead = Bytes{3e9};  // the textbook's alone
  const MemoryAnswer answer = memory(question);
  ASSERT_TRUE(answer.engines);
  EXPECT_TRUE(answer.engines->front().refused);
  ASSERT_TRUE(answer.engines->back().memory);
  EXPECT_EQ(answer.engines->back().memory->one_gpu.overhead.value, 3e9);
}

TEST(Memory, RefusesWhatWouldChangeNothing) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.solve = Solve::batch;
  question.batch = 3;
  EXPECT_THROW(memory(question), Error);
  question = memory_question_of("llama-3.1-8b", "h100");
  question.solve = Solve::context;
  question.context = 3;
  EXPECT_THROW(memory(question), Error);
  question = memory_question_of("llama-2-7b", "h100");
  question.context = 4097;  // max_model_len is 4,096
  EXPECT_THROW(memory(question), Error);
  question.context = 0;
  EXPECT_THROW(memory(question), Error);
}

// SGLang keeps more of the GPU for itself than vLLM (13.06 against 7.0 GiB of 79): between the
// batches of the two the first rule says yes and the other no.
TEST(Memory, OfAllEnginesSaysNoWhereOneRuleDoes) {
  MemoryQuestion question = memory_question_of("llama-3.1-8b", "h100");
  question.deployment.engine = "all";
  question.context = 8000;
  question.batch = 1;
  const MemoryAnswer one = memory(question);
  EXPECT_TRUE(is_yes(one));
  std::int64_t least = one.engines->front().memory->max_batch;
  for (const EngineMemory& row : *one.engines) least = std::min(least, row.memory->max_batch);
  ASSERT_LT(least, one.engines->front().memory->max_batch);
  question.batch = least;
  EXPECT_TRUE(is_yes(memory(question)));
  question.batch = least + 1;
  const MemoryAnswer answer = memory(question);
  EXPECT_TRUE(answer.asked->fits);
  EXPECT_FALSE(is_yes(answer));
  EXPECT_THAT(answer.remedies, IsEmpty());  // those of the first rule, which needs none
}

}  // namespace
}  // namespace roofcast

#include "planner/launch/serve_command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "planner/launch/checkpoint_name.hpp"
#include "planner/launch/serve_command.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DeploymentOptions options(const std::string& engine) {
  return {.model = "org/model", .engine = engine};
}

TEST(ServeCommandLine, VllmIsStartedWithItsFlags) {
  DeploymentOptions asked = options("vllm-0.19");
  asked.weight_format = "fp8";
  asked.parallel = {.tensor = 4, .data = 2, .expert_parallel = true};
  asked.overrides.max_num_seqs = 128;
  asked.overrides.enable_prefix_caching = false;
  asked.overrides.kv_cache_dtype = DType::fp8;
  asked.overrides.gpu_memory_utilization = 0.9;
  const ServeLine line = serve_command_line(asked, true);
  EXPECT_EQ(line.text,
            "vllm serve org/model --tensor-parallel-size 4 --data-parallel-size 2 "
            "--enable-expert-parallel --quantization fp8 --kv-cache-dtype fp8 --max-num-seqs 128 "
            "--gpu-memory-utilization 0.9 --no-enable-prefix-caching");
  EXPECT_THAT(line.notes, IsEmpty());
}

TEST(ServeCommandLine, SglangSharesExpertsByDataParallelAttention) {
  DeploymentOptions asked = options("sglang");
  asked.parallel = {.tensor = 2, .data = 4, .expert_parallel = true};
  EXPECT_EQ(serve_command_line(asked, true).text,
            "python -m sglang.launch_server --model-path org/model --tp-size 8 --dp-size 4 "
            "--ep-size 8 --enable-dp-attention");
  // Ours are limits of one rank, SGLang's of all four; its conservativeness is 0.3 of what is
  // given.
  asked.overrides.max_num_seqs = 64;
  asked.overrides.max_num_batched_tokens = 2048;
  asked.overrides.schedule_conservativeness = 0.3;
  EXPECT_EQ(serve_command_line(asked, true).text,
            "python -m sglang.launch_server --model-path org/model --tp-size 8 --dp-size 4 "
            "--ep-size 8 --enable-dp-attention --max-running-requests 256 "
            "--chunked-prefill-size 8192 --schedule-conservativeness 1");
  asked.overrides = {};
  asked.parallel.expert_parallel.reset();
  EXPECT_EQ(serve_command_line(asked, false).text,
            "python -m sglang.launch_server --model-path org/model --tp-size 2 --dp-size 4");
}

TEST(ServeCommandLine, TrtllmServeComesWithItsYaml) {
  DeploymentOptions asked = options("trtllm");
  asked.parallel = {.tensor = 1, .data = 8, .expert_parallel = true};
  asked.overrides.max_num_seqs = 384;
  asked.overrides.enable_chunked_prefill = true;
  asked.overrides.kv_cache_dtype = DType::fp8;
  asked.overrides.enable_prefix_caching = true;
  EXPECT_EQ(serve_command_line(asked, true).text,
            "cat > serve.yaml <<'EOF'\n"
            "enable_chunked_prefill: true\n"
            "enable_attention_dp: true\n"
            "kv_cache_config:\n"
            "  dtype: fp8\n"
            "  enable_block_reuse: true\n"
            "EOF\n"
            "trtllm-serve org/model --tp_size 8 --ep_size 8 --max_batch_size 384 "
            "--extra_llm_api_options serve.yaml");
}

TEST(ServeCommandLine, AtomIsStartedWithItsFlags) {
  DeploymentOptions asked = options("atom-0.1.3");
  asked.parallel = {.tensor = 8};
  asked.overrides.kv_cache_dtype = DType::fp8;
  asked.overrides.enable_prefix_caching = false;
  asked.overrides.cuda_graph_batch_sizes = {{1, 2, 4}};
  asked.overrides.num_speculative_tokens = 3;
  asked.overrides.speculative_method = DraftMethod::mtp;
  ServeLine line = serve_command_line(asked, true);
  EXPECT_EQ(line.text,
            "python -m atom.entrypoints.openai_server --model org/model --tensor-parallel-size 8 "
            "--kv_cache_dtype fp8 --cudagraph-capture-sizes '[1, 2, 4]' "
            "--no-enable_prefix_caching --method mtp --num-speculative-tokens 3");
  EXPECT_THAT(line.notes, IsEmpty());
  asked.overrides = {};
  asked.parallel = {.tensor = 1, .data = 8, .expert_parallel = true};
  line = serve_command_line(asked, true);
  EXPECT_EQ(line.text,
            "python -m atom.entrypoints.openai_server --model org/model --tensor-parallel-size 8 "
            "--enable-expert-parallel --enable-dp-attention");
  const ServeCommand read = read_serve_command(line.text);
  EXPECT_EQ(read.deployment.engine, "atom");
  EXPECT_EQ(read.deployment.parallel.tensor, 1);
  EXPECT_EQ(read.deployment.parallel.data, 8);
}

TEST(ServeCommand, AtomDraftsOneTokenUnlessToldOtherwise) {
  const std::string line = "python -m atom.entrypoints.openai_server --model org/model";
  const auto drafts = [&](const std::string& flags) {
    return read_serve_command(line + flags).deployment.overrides.num_speculative_tokens;
  };
  EXPECT_EQ(drafts(" --method mtp"), 1);
  EXPECT_EQ(drafts(" --method mtp --num-speculative-tokens 3"), 3);
  EXPECT_EQ(drafts(" --num-speculative-tokens 3"), std::nullopt);
}

TEST(ServeCommandLine, WhatNoFlagSaysIsNoted) {
  DeploymentOptions asked = options("sglang");
  asked.overrides.watermark = 0.1;
  asked.overrides.enable_prefix_caching = true;  // SGLang's default goes without saying
  EXPECT_THAT(serve_command_line(asked, false).notes, ElementsAre(HasSubstr("watermark")));
  asked = options("trtllm");
  asked.parallel = {.tensor = 2, .data = 2};
  EXPECT_THAT(serve_command_line(asked, false).notes, ElementsAre(HasSubstr("start 2 such")));
  asked = options("vllm");
  asked.weight_format = "awq";
  EXPECT_THAT(serve_command_line(asked, false).notes, ElementsAre(HasSubstr("as awq")));
  asked = options("vllm");
  asked.overrides.num_speculative_tokens = 3;
  asked.overrides.speculative_method = DraftMethod::eagle;
  EXPECT_THAT(serve_command_line(asked, false).notes, ElementsAre(HasSubstr("\"model\"")));
}

TEST(ServeCommandLine, AModelsPathIsQuoted) {
  DeploymentOptions asked = options("vllm");
  asked.model = "/models/it's here";
  EXPECT_EQ(read_serve_command(serve_command_line(asked, false).text).deployment.model,
            asked.model);
}

TEST(CheckpointName, IsWhatEnginesLoad) {
  EXPECT_EQ(checkpoint_name("llama-3.1-70b"), "meta-llama/Llama-3.1-70B");
  EXPECT_EQ(checkpoint_name("deepseek-r1"), "deepseek-ai/DeepSeek-R1");
  EXPECT_EQ(checkpoint_name("org/model"), "org/model");
  EXPECT_EQ(checkpoint_name("/models/mine"), "/models/mine");
}

TEST(ServeCommandLine, EnginesWithoutAServerHaveNoLine) {
  EXPECT_FALSE(serve_engine_of("textbook"));
  EXPECT_THROW(serve_command_line(options("naive"), false), UsageError);
}

// ---- round trips: each row reads what it writes, and writes it again

/// A value of a row: the first that its knob reads without a warning and writes unchanged.
std::string sample_value(const ServeFlag& row) {
  const std::vector<std::string> texts = {"tensorrt",
                                          "0.5",
                                          "8",
                                          "fp8",
                                          "float32",
                                          "fcfs",
                                          "true",
                                          "vllm",
                                          "null",
                                          "MAX_UTILIZATION",
                                          "DEEPGEMM",
                                          "marlin",
                                          "deep_gemm",
                                          "EQUAL_PROGRESS",
                                          "allgather_reducescatter",
                                          "EAGLE",
                                          "mtp",
                                          "pooling",
                                          "lmcache",
                                          "{\"num_redundant_experts\": 32}",
                                          "{\"image\": 2, \"video\": 0}",
                                          "{\"method\": \"ngram\", \"num_speculative_tokens\": 3}"};
  for (const std::string& text : texts) {
    ServeWords words;
    try {
      row.knob->read(words, text, row.spelling);
    } catch (const UsageError&) {
      continue;
    }
    if (words.not_modelled.empty() && row.knob->write(words)) return text;
  }
  return "";
}

constexpr auto kEngines = kServeEngines;

/// Writing, reading and writing again must give the same text.
void expect_same_again(const ServeFlag& row, const std::string& value) {
  ServeWords once;
  row.knob->read(once, value, row.spelling);
  const auto first = row.knob->write(once);
  ASSERT_TRUE(first) << row.spelling << " " << value;
  ServeWords twice;
  row.knob->read(twice, *first, row.spelling);
  EXPECT_EQ(row.knob->write(twice), first) << row.spelling;
}

void expect_rows_round_trip(const std::vector<ServeFlag>& rows) {
  for (const ServeFlag& row : rows) {
    if (row.knob == nullptr || !row.written) continue;
    const std::string value = sample_value(row);
    ASSERT_FALSE(value.empty()) << row.spelling;
    expect_same_again(row, value);
  }
}

TEST(ServeFlags, EveryRowReadsWhatItWrites) {
  for (const ServeEngine engine : kEngines) {
    ASSERT_FALSE(serve_flags(engine).flags.empty());
    expect_rows_round_trip(serve_flags(engine).flags);
    expect_rows_round_trip(serve_flags(engine).keys);
  }
}

TEST(ServeFlags, NoNameStandsForTwoRows) {
  for (const ServeEngine engine : kEngines) {
    std::vector<std::string> names;
    for (const ServeFlag& row : serve_flags(engine).flags) {
      names.push_back(row.spelling);
      names.insert(names.end(), row.others.begin(), row.others.end());
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    EXPECT_EQ(twice, names.end()) << *twice;
  }
}

/// A deployment with all knobs of its engine set must be read back unchanged from its command line.
void expect_round_trip(const DeploymentOptions& asked) {
  const ServeLine line = serve_command_line(asked, true);
  EXPECT_THAT(line.notes, IsEmpty());
  const ServeCommand back = read_serve_command(line.text);
  EXPECT_THAT(back.unknown, IsEmpty()) << line.text;
  EXPECT_THAT(back.not_modelled, IsEmpty()) << line.text;
  EXPECT_EQ(back.deployment.model, asked.model);
  EXPECT_EQ(back.deployment.weight_format, asked.weight_format);
  EXPECT_EQ(with_given({}, back.deployment.parallel), with_given({}, asked.parallel)) << line.text;
  EXPECT_EQ(back.deployment.overrides.max_num_seqs, asked.overrides.max_num_seqs);
  EXPECT_EQ(back.deployment.overrides.num_gpu_blocks_override,
            asked.overrides.num_gpu_blocks_override);
  EXPECT_EQ(serve_command_line(back.deployment, true).text, line.text);
}

void set_common(DeploymentOptions& asked) {
  EngineOverrides& knobs = asked.overrides;
  knobs.gpu_memory_utilization = 0.875;
  knobs.max_model_len = 12345;
  knobs.max_num_seqs = 77;
  knobs.max_num_batched_tokens = 4096;
  knobs.kv_cache_dtype = DType::fp8;
  knobs.block_size = 64;
  knobs.num_gpu_blocks_override = 1000;
  knobs.enforce_eager = true;
  knobs.async_scheduling = false;
  knobs.enable_prefix_caching = false;
}

TEST(ServeCommandLine, AVllmDeploymentIsReadBackWhole) {
  DeploymentOptions asked = options("vllm");
  set_common(asked);
  asked.weight_format = "fp8";
  asked.parallel = {.tensor = 2, .pipeline = 3, .data = 4, .expert_parallel = true};
  EngineOverrides& knobs = asked.overrides;
  knobs.enable_chunked_prefill = false;
  knobs.reserve_full_sequence = false;
  knobs.long_prefill_token_threshold = 99;
  knobs.watermark = 0.02;
  knobs.scheduling_policy = QueueOrder::priority;
  knobs.sampling = SamplingKind::plain;
  knobs.kv_cache_memory = Bytes{40e9};
  knobs.num_speculative_tokens = 2;
  knobs.speculative_method = DraftMethod::mtp;
  knobs.max_loras = 3;
  knobs.limit_mm_per_prompt = 0;
  knobs.kv_offloading_size = Bytes{8.0 * 1024 * 1024 * 1024};
  knobs.prefill_schedule_interval = 4;
  knobs.enable_dbo = true;
  knobs.dbo_decode_token_threshold = 64;
  knobs.dbo_prefill_token_threshold = 1024;
  knobs.pooling = true;
  expect_round_trip(asked);
}

TEST(ServeCommandLine, AnSglangDeploymentIsReadBackWhole) {
  DeploymentOptions asked = options("sglang");
  set_common(asked);
  asked.weight_format = "fp8";
  asked.parallel = {.tensor = 2, .pipeline = 3, .data = 4, .expert_parallel = true};
  asked.overrides.max_prefill_tokens = 5000;
  asked.overrides.schedule_conservativeness = 1.5;
  asked.overrides.enable_mixed_chunk = true;
  asked.overrides.enable_hierarchical_cache = true;
  asked.overrides.hicache_size = Bytes{100e9};
  asked.overrides.enable_dbo = true;
  asked.overrides.pooling = true;
  asked.overrides.scheduling_policy = QueueOrder::longest_output;
  expect_round_trip(asked);
}

TEST(ServeCommandLine, ATrtllmDeploymentIsReadBackWhole) {
  DeploymentOptions asked = options("trtllm-0.18");
  set_common(asked);
  asked.parallel = {.tensor = 1, .pipeline = 2, .data = 4, .expert_parallel = true};
  asked.overrides.enable_chunked_prefill = true;
  asked.overrides.capacity_scheduler_policy = CapacityPolicy::max_utilization;
  asked.overrides.context_chunking_policy = ChunkingPolicy::equal_progress;
  asked.overrides.max_attention_window = {{4096, 131'072}};
  expect_round_trip(asked);
}

}  // namespace
}  // namespace roofcast::test

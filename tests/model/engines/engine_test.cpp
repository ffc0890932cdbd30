#include "model/engines/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "model/architecture/requantise.hpp"
#include "model/engines/engine_version.hpp"
#include "tests/model/deployments.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Engine engine_on(const Gpu& gpu, const std::string& preset, const EngineOverrides& overrides = {},
                 const Parallelism& parallel = {}) {
  return resolve_engine(preset, overrides, test::llama_3_1_8b(), gpu, parallel);
}

/// One that the engine runs on.
Gpu gpu_for(const std::string& name) {
  return name.starts_with("atom") ? test::mi355x() : test::h100();
}

std::string preset_of(const std::string& name) { return engine_on(gpu_for(name), name).name; }

template <class Exception>
std::string message_of(const Gpu& gpu, const std::string& preset,
                       const EngineOverrides& overrides) {
  try {
    engine_on(gpu, preset, overrides);
  } catch (const Exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(EnginePresets, NamesAreForgiving) {
  EXPECT_EQ(preset_of("vllm"), "vllm-0.19");
  EXPECT_EQ(preset_of("vLLM_0.19.0"), "vllm-0.19");
  EXPECT_EQ(preset_of("vllm v0.19"), "vllm-0.19");
  EXPECT_EQ(preset_of("SGLang"), "sglang");
  EXPECT_EQ(preset_of("sglang-0.5.14"), "sglang");
  EXPECT_EQ(preset_of("TensorRT-LLM"), "trtllm-1.3");
  EXPECT_EQ(preset_of("trt-llm 1.2"), "trtllm-1.2");
  EXPECT_EQ(preset_of("trtllm-1.0.0rc3"), "trtllm-1.2");
  EXPECT_EQ(preset_of("trtllm-0.21"), "trtllm-1.2");
  EXPECT_EQ(preset_of("trtllm-1"), "trtllm-1.3");  // the newest 1.x
  EXPECT_EQ(preset_of("trtllm-1.3.0rc14"), "trtllm-1.3");
  EXPECT_EQ(preset_of("TensorRT-LLM v0.13.0"), "trtllm-0.18");
  EXPECT_EQ(preset_of("textbook"), "textbook");
}

TEST(EnginePresets, AVersionTakesThePresetWhoseBehaviourItShares) {
  EXPECT_EQ(preset_of("vllm-0.8.5"), "vllm-0.11");
  EXPECT_EQ(preset_of("vllm-0.10.2"), "vllm-0.11");
  EXPECT_EQ(preset_of("vllm-0.13.0"), "vllm-0.11");  // the last that schedules synchronously
  EXPECT_EQ(preset_of("vllm-0.14.0"), "vllm-0.15");
  EXPECT_EQ(preset_of("vllm-0.16.0"), "vllm-0.15");  // the last whose sampler sorts
  EXPECT_EQ(preset_of("vllm-0.17.0"), "vllm-0.17");
  EXPECT_EQ(preset_of("vllm-0.18.1"), "vllm-0.17");
  EXPECT_EQ(preset_of("vllm-0.19.1"), "vllm-0.19");
  EXPECT_EQ(preset_of("vllm-0.20"), "vllm-0.20");  // wants a block for each recurrent state
  EXPECT_EQ(preset_of("vllm-0.21"), "vllm-0.22");  // subtracts CUDA graphs
  EXPECT_EQ(preset_of("vllm-0.26"), "vllm-0.22");
  EXPECT_EQ(preset_of("vllm-0.27"), "vllm-0.29");
  EXPECT_EQ(preset_of("vllm-0.31"), "vllm-0.29");
  EXPECT_EQ(preset_of("vllm-2025"), "vllm-0.11");
  EXPECT_EQ(preset_of("vllm-2026"), "vllm-0.29");
}

TEST(EnginePresets, AVersionNotComparedWithIsAnsweredWithAWarning) {
  EXPECT_EQ(uncompared_version("vllm-0.9.2"),
            "vllm-0.9.2 is answered as vllm-0.11, whose values are from versions 0.10 to 0.13");
  EXPECT_THAT(*uncompared_version("vllm-0.31"), HasSubstr("0.27 to 0.29"));
  EXPECT_THAT(*uncompared_version("sglang-0.4.6"), HasSubstr("from version 0.5"));
  EXPECT_EQ(preset_of("vllm-nightly"), "vllm-0.29");
  EXPECT_EQ(uncompared_version("vllm-nightly"),
            "vllm-nightly is answered as vllm-0.29, whose values are from versions 0.27 to 0.29");
  EXPECT_THAT(message_of<Error>(test::h100(), "nightly", {}), HasSubstr("unknown engine"));
  for (const char* covered :
       {"vllm", "vllm-0", "vllm-0.11", "vllm-0.19.1", "vllm-2025", "sglang", "sglang-0.5",
        "sglang-0.5.14", "trtllm", "trtllm-1", "trtllm-1.2", "trtllm-1.3.0rc20", "textbook"}) {
    EXPECT_EQ(uncompared_version(covered), std::nullopt) << covered;
    EXPECT_TRUE(is_compared_version(covered)) << covered;
  }
}

// Versions are ordered over 0.x, 1.x and 2.x, and a year is one of them where no preset is its.
TEST(EnginePresets, AnyVersionThatAnotherAnswersIsSaid) {
  EXPECT_EQ(uncompared_version("trtllm-1.4"),
            "trtllm-1.4 is answered as trtllm-1.3, whose values are from version 1.3");
  EXPECT_EQ(uncompared_version("trtllm-2"),
            "trtllm-2 is answered as trtllm-1.3, whose values are from version 1.3");
  EXPECT_EQ(uncompared_version("trtllm-0.10"),
            "trtllm-0.10 is answered as trtllm-0.18, whose values are from versions 0.13 to 0.18");
  EXPECT_THAT(*uncompared_version("trtllm-0.19"), HasSubstr("versions 0.20 to 1.2"));
  EXPECT_THAT(*uncompared_version("trtllm-nightly"), HasSubstr("trtllm-1.3"));
  EXPECT_EQ(uncompared_version("sglang-0.5.99"),
            "sglang-0.5.99 is answered as sglang, whose values are from version 0.5, up to 0.5.16");
  EXPECT_THAT(*uncompared_version("sglang-1.0"), HasSubstr("answered as sglang"));
  EXPECT_EQ(uncompared_version("atom-0.1.5"), std::nullopt);
  EXPECT_EQ(uncompared_version("atom-0.1.6"),
            "atom-0.1.6 is answered as atom, whose values are from version 0.1, up to 0.1.5");
  EXPECT_THAT(*uncompared_version("sglang-2025"), HasSubstr("answered as sglang"));
  EXPECT_EQ(preset_of("vllm-1.0"), "vllm-0.29");
  EXPECT_THAT(*uncompared_version("vllm-1.0"), HasSubstr("0.27 to 0.29"));
  EXPECT_THAT(message_of<Error>(test::h100(), "vllm-2024", {}), HasSubstr("unknown engine"));
  EXPECT_THAT(message_of<Error>(test::h100(), "sglang-0.x", {}), HasSubstr("unknown engine"));
  EXPECT_FALSE(is_compared_version("sglang-nightly"));
  EXPECT_TRUE(is_compared_version("ours"));
}

TEST(EnginePresets, SeveralEnginesAreComparedByAPlan) {
  EXPECT_THAT(message_of<Error>(test::h100(), "vllm,sglang", {}),
              HasSubstr("plan --search engine=vllm,sglang"));
}

TEST(EnginePresets, TheNewestVersionIsOfTheSameEngine) {
  EXPECT_EQ(newest_version("sglang-0.5.7"), "sglang");
  EXPECT_EQ(newest_version("vllm-0.11"), "vllm-0.29");
  EXPECT_EQ(newest_version("trtllm-1.1"), "trtllm-1.3");
  EXPECT_EQ(newest_version("trtllm"), "trtllm");
  EXPECT_EQ(newest_version("textbook"), "textbook");
}

TEST(EnginePresets, AnswersNameTheVersionAskedForOrTheProfile) {
  EXPECT_EQ(engine_title(engine_on(test::h100(), "vllm-0.12")), "vllm-0.12");
  EXPECT_EQ(engine_title(engine_on(test::h100(), "vllm")), "vllm-0.19");
  EXPECT_EQ(engine_title(engine_on(test::h100(), "sglang 0.5.7")), "sglang-0.5.7");
  EXPECT_EQ(engine_title("ours", "vllm-0.19"), "ours");
  EXPECT_EQ(engine_title("vllm-0.19", ""), "vllm-0.19");
}

// A preset covers several versions; curves are taken of the one asked for.
TEST(EnginePresets, TheVersionAskedForIsKept) {
  const auto version_of = [](const char* name) { return engine_on(test::h100(), name).version; };
  EXPECT_EQ(engine_on(test::h100(), "vLLM 0.24.1").name, "vllm-0.22");
  EXPECT_EQ(version_of("vLLM 0.24.1"), "vllm-0.24.1");
  EXPECT_EQ(version_of("sglang-0.5.9"), "sglang-0.5.9");
  EXPECT_EQ(version_of("trtllm-1.1.0rc2"), "trtllm-1.1.0rc2");
  EXPECT_EQ(version_of("trtllm-1.3"), "trtllm-1.3");
  EXPECT_EQ(version_of("trtllm"), "trtllm-1.3");
  EXPECT_EQ(version_of("vllm"), "vllm-0.19");
  EXPECT_EQ(version_of("vllm-2026"), "vllm-0.29");
  EXPECT_EQ(version_of("vllm-nightly"), "vllm-nightly");
}

TEST(EnginePresets, AnUnknownNameIsAnsweredWithTheNearest) {
  const std::string message = message_of<Error>(test::h100(), "vlm-0.19", {});
  EXPECT_THAT(message, HasSubstr("unknown engine 'vlm-0.19'"));
  EXPECT_THAT(message, HasSubstr("did you mean 'vllm-0.19'"));
  EXPECT_THAT(
      message,
      HasSubstr("vllm-0.29, vllm-0.22, vllm-0.20, vllm-0.19, vllm-0.17, vllm-0.15, vllm-0.11, "
                "sglang, trtllm-1.3, trtllm-1.2, trtllm-0.18, atom, roofcast, textbook"));
  EXPECT_THAT(message_of<Error>(test::h100(), "vllm-x", {}), HasSubstr("unknown engine"));
  EXPECT_THAT(message_of<Error>(test::h100(), "vllm-0.x", {}), HasSubstr("unknown engine"));
}

TEST(EnginePresets, SglangBeforeTheOverlapSchedulerIsRefused) {
  EXPECT_THAT(message_of<Error>(test::h100(), "sglang-0.3.4", {}), HasSubstr("before 0.4"));
  EXPECT_EQ(preset_of("sglang-0.4.6.post1"), "sglang");
}

TEST(EnginePresets, TheV0EngineIsRefused) {
  EXPECT_THAT(message_of<Error>(test::h100(), "vllm-0.6.3", {}), HasSubstr("V0 engine"));
}

TEST(EnginePresets, AreListedOncePerEraWithASummary) {
  ASSERT_EQ(engine_presets().size(), 16u);
  EXPECT_EQ(engine_presets().front().name, "vllm-0.29");
  for (const EnginePreset& preset : engine_presets()) {
    EXPECT_FALSE(preset.summary.empty()) << preset.name;
    EXPECT_EQ(preset_of(preset.name), preset.name);
  }
}

// Every version of an engine has the width of its runs; our own engine and loops have none.
TEST(EnginePresets, OfServersStateTheErrorOfFirstTokens) {
  for (const EnginePreset& preset : engine_presets()) {
    const bool serves = preset.name.starts_with("vllm") || preset.name.starts_with("sglang") ||
                        preset.name.starts_with("trtllm") || preset.name == "atom";
    EXPECT_EQ(engine_on(gpu_for(preset.name), preset.name).first_token_uncertainty > 0, serves)
        << preset.name;
  }
}

// A preset is all that says how large the default batch is: 48 sequences and 4096 tokens of an
// edited one are the answer, and 96 and 6144 on a large GPU.
TEST(EnginePresets, TheBatchIsThePresets) {
  EnginePreset preset = find_preset("vllm-0.19");
  preset.defaults.max_num_seqs = 48;
  preset.defaults.max_num_batched_tokens = 4096;
  preset.on_large_gpu = {.max_num_seqs = 96, .max_num_batched_tokens = 6144};
  const auto on = [&](const Gpu& gpu) {
    return resolve_engine(preset, {}, test::llama_3_1_8b(), gpu, {});
  };
  EXPECT_EQ(on(test::rtx_4090()).max_num_seqs, 48);
  EXPECT_EQ(on(test::rtx_4090()).max_num_batched_tokens, 4096);
  EXPECT_EQ(on(test::h100()).max_num_seqs, 96);
  EXPECT_EQ(on(test::h100()).max_num_batched_tokens, 6144);
}

// vLLM EngineArgs.get_batch_defaults, API server: 1024 sequences and 8192 tokens from 70 GiB on,
// but not on an A100; 256 and 2048 otherwise.
TEST(EngineDefaults, FollowTheMemoryOfTheGpu) {
  const Engine large = engine_on(test::h100(), "vllm-0.19");
  EXPECT_EQ(large.max_num_seqs, 1024);
  EXPECT_EQ(large.max_num_batched_tokens, 8192);
  for (const Gpu& gpu : {test::a100_80gb(), test::rtx_4090(), test::gpu_of("card", 69.9)}) {
    const Engine other = engine_on(gpu, "vllm-0.19");
    EXPECT_EQ(other.max_num_seqs, 256) << gpu.name;
    EXPECT_EQ(other.max_num_batched_tokens, 2048) << gpu.name;
  }
  EXPECT_EQ(engine_on(test::gpu_of("card", 70.0), "vllm-0.19").max_num_seqs, 1024);
}

TEST(EngineDefaults, DifferByEra) {
  const Engine early = engine_on(test::h100(), "vllm-0.11");
  EXPECT_FALSE(early.async_scheduling);
  EXPECT_FALSE(early.reserve_full_sequence);
  EXPECT_DOUBLE_EQ(early.gpu_memory_utilization, 0.90);
  const Engine between = engine_on(test::h100(), "vllm-0.15");
  EXPECT_TRUE(between.async_scheduling);
  EXPECT_FALSE(between.reserve_full_sequence);
  const Engine middle = engine_on(test::h100(), "vllm-0.19");
  EXPECT_TRUE(middle.async_scheduling);
  EXPECT_TRUE(middle.reserve_full_sequence);
  EXPECT_FALSE(middle.memory.subtracts_graphs);
  const Engine late = engine_on(test::h100(), "vllm-0.29");
  EXPECT_DOUBLE_EQ(late.gpu_memory_utilization, 0.92);
  EXPECT_TRUE(late.memory.subtracts_graphs);
  for (const Engine& engine : {early, middle, late}) {
    EXPECT_EQ(engine.block_size, 16);
    EXPECT_TRUE(engine.prefix_caching);
    EXPECT_TRUE(engine.chunked_prefill);
    EXPECT_EQ(engine.max_model_len, 131072);  // the model's
    EXPECT_EQ(engine.kv_cache_dtype, DType::bf16);
  }
}

// The list that a vLLM 0.19.0 run on an RTX 4090 with 256 sequences printed: 1, 2, 4, then by 8 to
// 248, then by 16 to 512; 51 sizes. Earlier versions went by 8 to 512: 67 sizes.
// Up to 0.13 the scheduler's process tells every rank's what to run, 0.6 ms and 16 us a sequence
// (model/engines/vllm.cpp); from 0.14 on this is done while the GPUs work.
TEST(EngineDefaults, SynchronousVllmTakesHostTimeToReachSeveralRanks) {
  const auto host = [](const std::string& preset, int tensor, int pipeline) {
    return engine_on(test::h100(), preset, {}, {.tensor = tensor, .pipeline = pipeline}).host;
  };
  const HostOverhead alone = host("vllm-0.11", 1, 1);
  const HostOverhead two = host("vllm-0.11", 2, 1);
  EXPECT_NEAR((two.step_base - alone.step_base).value, 0.6e-3, 1e-12);
  EXPECT_NEAR((two.per_sequence - alone.per_sequence).value, 16e-6, 1e-12);
  EXPECT_EQ(host("vllm-0.11", 1, 2).step_base, two.step_base);
  EXPECT_EQ(host("vllm-0.11", 4, 2).step_base, two.step_base);
  EXPECT_EQ(host("vllm-0.15", 2, 1).step_base, host("vllm-0.15", 1, 1).step_base);
}

TEST(EngineDefaults, CaptureSizesFollowTheEra) {
  const Engine middle = engine_on(test::rtx_4090(), "vllm-0.19");
  ASSERT_EQ(middle.graph_batch_sizes.size(), 51u);
  EXPECT_EQ(middle.graph_batch_sizes[2], 4);
  EXPECT_EQ(middle.graph_batch_sizes[3], 8);
  EXPECT_EQ(middle.graph_batch_sizes[34], 256);
  EXPECT_EQ(middle.graph_batch_sizes[35], 272);
  EXPECT_EQ(middle.graph_batch_sizes.back(), 512);
  EXPECT_EQ(engine_on(test::rtx_4090(), "vllm-0.11").graph_batch_sizes.size(), 67u);
  // Twice max_num_seqs at most: 2 x 10 = 20, of which 16 is the largest step of 8.
  EXPECT_THAT(engine_on(test::h100(), "vllm-0.19", {.max_num_seqs = 10}).graph_batch_sizes,
              ElementsAre(1, 2, 4, 8, 16));
  EXPECT_TRUE(
      engine_on(test::h100(), "vllm-0.19", {.enforce_eager = true}).graph_batch_sizes.empty());
}

TEST(EngineDefaults, CapturedBatchesCanBeGiven) {
  const auto sizes = [](const char* preset, const EngineOverrides& knobs) {
    return engine_on(test::h100(), preset, knobs).graph_batch_sizes;
  };
  EXPECT_THAT(sizes("vllm-0.19", {.cuda_graph_batch_sizes = {{8, 1, 8}}}), ElementsAre(1, 8));
  EXPECT_THAT(sizes("vllm-0.19", {.cuda_graph_max_bs = 16}), ElementsAre(1, 2, 4, 8, 16));
  // Beyond the token budget none is captured.
  EXPECT_THAT(sizes("vllm-0.19", {.max_num_seqs = 4,
                                  .max_num_batched_tokens = 8,
                                  .cuda_graph_batch_sizes = {{4, 8, 16}}}),
              ElementsAre(4, 8));
  EXPECT_THAT(sizes("sglang", {.cuda_graph_max_bs = 10}), ElementsAre(1, 2, 4, 8, 10));
  EXPECT_THAT(sizes("sglang", {.cuda_graph_max_bs = 3, .cuda_graph_padding = false}),
              ElementsAre(1, 2, 3));
  // The memory fraction follows: 512 + 1.5 * 8192 + 2 * 16 + 128 + 464 = 13,424 MiB of 81,090.56.
  EXPECT_DOUBLE_EQ(
      engine_on(test::h100(), "sglang", {.cuda_graph_max_bs = 16}).gpu_memory_utilization, 0.834);
  const auto refusal = [](const char* preset, const EngineOverrides& knobs) {
    return message_of<UsageError>(test::h100(), preset, knobs);
  };
  EXPECT_THAT(refusal("vllm", {.cuda_graph_batch_sizes = {{1, 2}}, .cuda_graph_max_bs = 4}),
              HasSubstr("`cuda_graph_max_bs`: 4 given, expected 2"));
  EXPECT_THAT(refusal("vllm", {.enforce_eager = true, .cuda_graph_max_bs = 4}),
              HasSubstr("without CUDA graphs"));
  EXPECT_THAT(refusal("vllm", {.cuda_graph_padding = false}),
              HasSubstr("expected engine sglang or trtllm"));
  EXPECT_THAT(refusal("vllm", {.cuda_graph_batch_sizes = {{1, 0}}}),
              HasSubstr("`cuda_graph_batch_sizes`: 0 given"));
  EXPECT_THAT(refusal("vllm", {.cuda_graph_batch_sizes = std::vector<std::int64_t>{}}),
              HasSubstr("an empty list"));
}

// TensorRT-LLM 1.2, llmapi/llm_args.py, _generate_cuda_graph_batch_sizes: 1 to 32, 64 and 128
// unless padded, then 1, 2, 4, 8 and on by 8 to 128, and by 64.
TEST(TensorrtDefaults, OnlySomeDecodeBatchesAreCaptured) {
  const auto engine = [](const EngineOverrides& knobs) {
    return engine_on(test::h100(), "trtllm", knobs);
  };
  const Engine plain = engine({});
  EXPECT_EQ(plain.graph_batch_sizes.size(), 34u);
  EXPECT_EQ(plain.graph_batch_sizes.back(), 128);
  EXPECT_EQ(padded_batch(plain, 48), 48);
  const Engine padded = engine({.cuda_graph_padding = true});
  EXPECT_EQ(padded.graph_batch_sizes.size(), 19u);  // 1, 2, 4 and 16 multiples of 8
  EXPECT_EQ(padded_batch(padded, 41), 48);
  EXPECT_THAT(engine({.cuda_graph_max_bs = 40}).graph_batch_sizes.back(), 40);
  EXPECT_EQ(engine({.cuda_graph_max_bs = 1000}).graph_batch_sizes.back(), 1000);
  EXPECT_EQ(engine({.cuda_graph_max_bs = 320, .cuda_graph_padding = true}).graph_batch_sizes.size(),
            22u);  // and 192, 256, 320
  // No batch is larger than max_batch_size; what pads beyond it pads to it.
  EXPECT_EQ(engine({.max_num_seqs = 20}).graph_batch_sizes.back(), 20);
  EXPECT_EQ(engine({.max_num_seqs = 20, .cuda_graph_padding = true}).graph_batch_sizes.back(), 20);
  EXPECT_EQ(engine({.max_num_seqs = 50}).graph_batch_sizes.back(), 32);
  EXPECT_TRUE(engine_on(test::h100(), "trtllm-0.18").exact_graphs);
}

// 1.2, pyexecutor/model_engine.py: capture_num_tokens or the batch sizes, up to max_num_tokens.
TEST(TensorrtDefaults, StepsWithPromptsAreCapturedInPiecesIfAsked) {
  const auto sizes = [](const EngineOverrides& knobs) {
    return engine_on(test::h100(), "trtllm", knobs).prompt_graph_sizes;
  };
  EXPECT_THAT(sizes({}), IsEmpty());
  EXPECT_THAT(sizes({.piecewise_cuda_graph = false}), IsEmpty());
  EXPECT_THAT(sizes({.max_num_batched_tokens = 2000,
                     .piecewise_cuda_graph = true,
                     .capture_num_tokens = {{4096, 1024, 256}}}),
              ElementsAre(256, 1024));
  EXPECT_THAT(sizes({.cuda_graph_batch_sizes = {{1, 2, 4}}, .piecewise_cuda_graph = true}),
              ElementsAre(1, 2, 4));
  const auto refusal_of = [](const char* engine, const EngineOverrides& knobs) {
    return message_of<UsageError>(test::h100(), engine, knobs);
  };
  EXPECT_EQ(refusal_of("trtllm", {.capture_num_tokens = {{256}}}),
            "`capture_num_tokens`: requires `piecewise_cuda_graph`");
  EXPECT_THAT(refusal_of("trtllm", {.max_num_batched_tokens = 128,
                                    .piecewise_cuda_graph = true,
                                    .capture_num_tokens = {{256}}}),
              HasSubstr("within `max_num_batched_tokens` (128)"));
  EXPECT_THAT(refusal_of("trtllm", {.enforce_eager = true, .piecewise_cuda_graph = true}),
              HasSubstr("without CUDA graphs"));
  EXPECT_THAT(refusal_of("trtllm-0.18", {.piecewise_cuda_graph = true}),
              HasSubstr("expected an engine from trtllm-0.19 on"));
  EXPECT_THAT(refusal_of("vllm", {.piecewise_cuda_graph = true}),
              HasSubstr("piecewise_cuda_graph"));
}

// 1.0 to 1.2: _forward_step_inter_pp waits for the GPU.
TEST(TensorrtDefaults, EachPipelineStageHasAHost) {
  const auto hosts = [](const char* preset, int stages) {
    return engine_on(test::h100(), preset, {}, {.pipeline = stages}).stage_hosts;
  };
  EXPECT_EQ(hosts("trtllm-1.0", 2), StageHosts::waiting);
  EXPECT_EQ(hosts("trtllm-1.3", 2), StageHosts::ahead);
  EXPECT_EQ(hosts("trtllm-1.3", 1), StageHosts::one);
  EXPECT_EQ(hosts("trtllm-0.18", 2), StageHosts::one);
  EXPECT_EQ(hosts("vllm-0.19", 2), StageHosts::one);
}

TEST(PaddedBatch, IsTheNextCapturedSize) {
  const Engine engine = engine_on(test::rtx_4090(), "vllm-0.19");
  EXPECT_EQ(padded_batch(engine, 1), 1);
  EXPECT_EQ(padded_batch(engine, 3), 4);
  EXPECT_EQ(padded_batch(engine, 9), 16);
  EXPECT_EQ(padded_batch(engine, 249), 256);
  EXPECT_EQ(padded_batch(engine, 257), 272);
  EXPECT_EQ(padded_batch(engine, 512), 512);
  EXPECT_EQ(padded_batch(engine, 513), 513);  // beyond the largest: runs unpadded
  const Engine eager = engine_on(test::rtx_4090(), "vllm-0.19", {.enforce_eager = true});
  EXPECT_EQ(padded_batch(eager, 9), 9);
}

// With three drafts a sequence has four tokens in each step: vLLM captures by tokens, SGLang and
// TensorRT-LLM by sequences, of which the largest default on an RTX 4090 is 24 (SGLang).
TEST(PaddedBatch, OfDraftsIsInSequencesOrTokensAsTheEngineCaptures) {
  const Engine vllm = engine_on(test::rtx_4090(), "vllm-0.19");
  EXPECT_EQ(graph_size(vllm, 9, 4), 36);
  EXPECT_EQ(padded_batch(vllm, 9, 4), 40);
  const Engine sglang =
      engine_on(test::rtx_4090(), "sglang", {.num_speculative_tokens = 3, .acceptance_rate = 0.7});
  EXPECT_EQ(graph_size(sglang, 9, 4), 9);
  EXPECT_EQ(padded_batch(sglang, 9, 4), 12 * 4);
  EXPECT_EQ(padded_batch(sglang, 24, 4), 24 * 4);
  EXPECT_EQ(padded_batch(sglang, 25, 4), 25 * 4);  // beyond the largest
}

TEST(EngineOverrides, BendDefaultsThatWouldContradictThem) {
  // 512 tokens a step cannot serve 1024 sequences: the default gives way.
  const Engine few_tokens = engine_on(test::h100(), "vllm-0.19", {.max_num_batched_tokens = 512});
  EXPECT_EQ(few_tokens.max_num_seqs, 512);
  // Without chunked prefill a step must hold the longest prompt.
  const Engine whole = engine_on(test::h100(), "vllm-0.19", {.enable_chunked_prefill = false});
  EXPECT_EQ(whole.max_num_batched_tokens, 131072);
  // 2 sequences of at most 100 tokens never need more than 200.
  const Engine tiny =
      engine_on(test::h100(), "vllm-0.19", {.max_model_len = 100, .max_num_seqs = 2});
  EXPECT_EQ(tiny.max_num_batched_tokens, 200);
}

TEST(EngineOverrides, ThatContradictEachOtherAreRefused) {
  EXPECT_THAT(
      message_of<UsageError>(test::h100(), "vllm-0.19",
                             {.max_num_seqs = 512, .max_num_batched_tokens = 256}),
      HasSubstr("`max_num_batched_tokens`: 256 given, expected at least `max_num_seqs` (512)"));
  EXPECT_THAT(
      message_of<UsageError>(test::h100(), "vllm-0.19",
                             {.max_num_batched_tokens = 8192, .enable_chunked_prefill = false}),
      HasSubstr("expected at least `max_model_len` (131072)"));
  EXPECT_THAT(message_of<UsageError>(test::h100(), "vllm-0.19", {.max_model_len = 200000}),
              HasSubstr("at most 131072"));
}

TEST(EngineOverrides, OutOfRangeAreRefused) {
  for (const double share : {0.0, -0.1, 1.01}) {
    EXPECT_THAT(
        message_of<UsageError>(test::h100(), "vllm-0.19", {.gpu_memory_utilization = share}),
        HasSubstr("more than 0 and at most 1"));
  }
  EXPECT_THAT(message_of<UsageError>(test::h100(), "vllm-0.19", {.max_num_seqs = 0}),
              HasSubstr("`max_num_seqs`: 0 given"));
  EXPECT_THAT(message_of<UsageError>(test::h100(), "vllm-0.19", {.block_size = -16}),
              HasSubstr("`block_size`: -16 given"));
  EXPECT_THAT(message_of<UsageError>(test::h100(), "vllm-0.19", {.watermark = 1.0}),
              HasSubstr("watermark"));
  EXPECT_THAT(message_of<UsageError>(test::h100(), "vllm-0.19", {.weight_bytes = Bytes{-1.0}}),
              HasSubstr("weight_bytes"));
}

TEST(EngineOverrides, AModelWithoutAStatedContextNeedsOne) {
  Transformer model = test::llama_3_1_8b();
  model.max_context = 0;
  EXPECT_THROW(resolve_engine("vllm", {}, model, test::h100(), {}), Error);
  EXPECT_EQ(resolve_engine("vllm", {.max_model_len = 4096}, model, test::h100(), {}).max_model_len,
            4096);
}

TEST(EngineOverrides, TheTextbookCountsBytesBeyondTheModelsContext) {
  EXPECT_EQ(engine_on(test::a100_80gb(), "textbook", {.max_model_len = 1'000'000}).max_model_len,
            1'000'000);
}

TEST(EngineOverrides, CacheDtypeFollowsFlagThenCheckpointThenActivations) {
  Transformer model = test::llama_3_1_8b();
  model.kv_cache_dtype = DType::fp8;
  EXPECT_EQ(resolve_engine("vllm", {}, model, test::h100(), {}).kv_cache_dtype, DType::fp8);
  EXPECT_EQ(resolve_engine("vllm", {.kv_cache_dtype = DType::bf16}, model, test::h100(), {})
                .kv_cache_dtype,
            DType::bf16);
}

// vLLM: CacheDType in config/cache.py; SGLang: kv_cache_dtype in server_args.py; TensorRT-LLM:
// _VALID_KV_CACHE_DTYPES in model_loader.py.
TEST(EngineOverrides, ACacheThatAnEngineDoesNotHaveIsRefused) {
  const auto refusal = [](const char* preset, DType dtype) {
    return message_of<UsageError>(test::h100(), preset, {.kv_cache_dtype = dtype});
  };
  for (const DType dtype : {DType::int4, DType::fp4, DType::int8, DType::fp32}) {
    EXPECT_THAT(refusal("vllm-0.19", dtype), HasSubstr("vllm-0.19 has no such cache"));
  }
  EXPECT_THAT(refusal("vllm-0.29", DType::fp32), HasSubstr("expected one of: bf16, fp16, fp8"));
  EXPECT_THAT(refusal("sglang", DType::int8), HasSubstr("expected one of: bf16, fp8, fp4"));
  EXPECT_THAT(refusal("trtllm", DType::fp16), HasSubstr("fp8, fp4, or bf16 as the model"));
  EXPECT_THAT(refusal("trtllm-0.18", DType::fp4), HasSubstr("fp8, int8"));
  const auto cache = [](const char* preset, DType dtype) {
    return engine_on(test::h100(), preset, {.kv_cache_dtype = dtype}).kv_cache_dtype;
  };
  EXPECT_EQ(cache("vllm-0.29", DType::int4), DType::int4);
  EXPECT_EQ(cache("sglang", DType::fp4), DType::fp4);
  EXPECT_EQ(cache("trtllm", DType::bf16), DType::bf16);  // the model's own
  EXPECT_EQ(cache("textbook", DType::int4), DType::int4);
}

// 79.19 GiB are 81,090.56 MiB: chunked prefill 8192, graphs to 256 sequences, and of prefills of
// 4 to 32 tokens by 4, to 256 by 16, to 512 by 32, to 1,024 by 64, to 4,096 by 256 and to 8,192 by
// 512: 8 + 14 + 8 + 8 + 12 + 8 = 58 at 8 MiB. Reserved: 512 + 1.5 * 8192 + 2 * 256 + 1024 / 8 + 464
// = 13,904 MiB; (81,090.56 - 13,904) / 81,090.56 = 0.829, before 0.5.10 without prefills 0.834.
// At TP 8: graphs to 512, 512 + 12,288 + 1,024 + 1,024 + 464 = 15,312 MiB: 0.811.
TEST(SglangDefaults, MemoryFractionFollowsWhatItReserves) {
  const Engine one = engine_on(test::h100(), "sglang");
  EXPECT_EQ(one.max_num_batched_tokens, 8192);
  EXPECT_EQ(one.block_size, 1);
  EXPECT_EQ(one.graph_batch_sizes.back(), 256);
  EXPECT_DOUBLE_EQ(one.gpu_memory_utilization, 0.829);
  EXPECT_DOUBLE_EQ(engine_on(test::h100(), "sglang-0.5.6").gpu_memory_utilization, 0.834);
  EXPECT_DOUBLE_EQ(engine_on(test::h100(), "sglang-0.5.10").gpu_memory_utilization, 0.829);
  const Engine eight = engine_on(test::h100(), "sglang", {}, {.tensor = 8});
  EXPECT_EQ(eight.graph_batch_sizes.back(), 512);
  EXPECT_DOUBLE_EQ(eight.gpu_memory_utilization, 0.811);
  EXPECT_EQ(engine_on(test::rtx_4090(), "sglang").max_num_batched_tokens, 2048);
  EXPECT_EQ(engine_on(test::gpu_of("b200", 179.0), "sglang").max_num_batched_tokens, 16384);
}

// 512 + 1.5 * 2048 + 2 * 24 + 128 = 3,760 MiB would do for 61 GiB, but above 60 GiB at least
// 10 GiB are reserved. 61 GiB = 62,464 MiB falls into the 8192 tier: 13,904 MiB, 0.777.
// A tier override to 2048 tokens brings 512 + 3,072 + 512 + 128 + 42 * 8 = 4,560, so 10,240: 0.836.
TEST(SglangDefaults, LargeGpusReserveTenGibibytesAtLeast) {
  const Gpu gpu = test::gpu_of("card", 61.0);
  EXPECT_DOUBLE_EQ(engine_on(gpu, "sglang").gpu_memory_utilization, 0.777);
  EXPECT_DOUBLE_EQ(
      engine_on(gpu, "sglang", {.max_num_batched_tokens = 2048}).gpu_memory_utilization, 0.836);
}

// Eight ranks of one server: 8192 / 8 tokens a chunk, graphs to 512 as at TP 8. Reserved: the
// 14,848 MiB of TP 8, 38 captured prefills up to 1,024 tokens, 304 MiB, and 4.5 * 512 * 8 = 18,432
// MiB: (81,090.56 - 33,584) / 81,090.56 = 0.586. A
// dense model's ranks are servers of their own.
TEST(SglangDefaults, DataParallelAttentionSharesTheChunkAndReservesMore) {
  const Parallelism eight{.data = 8};
  const Engine shared = resolve_engine("sglang", {}, test::mixtral_8x7b(), test::h100(), eight);
  EXPECT_EQ(shared.max_num_batched_tokens, 1024);
  EXPECT_DOUBLE_EQ(shared.schedule_conservativeness, 0.3);
  EXPECT_EQ(shared.graph_batch_sizes.back(), 512);
  EXPECT_DOUBLE_EQ(shared.gpu_memory_utilization, 0.586);
  const Engine apart = engine_on(test::h100(), "sglang", {}, eight);
  EXPECT_EQ(apart.max_num_batched_tokens, 8192);
  EXPECT_DOUBLE_EQ(apart.schedule_conservativeness, 1.0);
  EXPECT_DOUBLE_EQ(apart.gpu_memory_utilization, 0.829);
}

// Latent attention reserves 1.5 GiB for captured prefills whatever their sizes: at TP 8 14,848 +
// 1,536 MiB, 0.798. DeepSeek-V4's and those of most models with encoders are not captured.
TEST(SglangDefaults, CapturedPrefillsOfLatentAttentionReserveMore) {
  EXPECT_DOUBLE_EQ(resolve_engine("sglang", {}, test::deepseek_v3(), test::h100(), {.tensor = 8})
                       .gpu_memory_utilization,
                   0.798);
}

// vLLM's Fp8Config.get_min_capability: 80 up to 0.13, 75 since; Turing has 7.5, Volta 7.0. SGLang's
// is 80. TensorRT-LLM multiplies fp8 from Ada on, 8.9.
TEST(EngineWeights, FormatsNeedAComputeCapability) {
  const auto refusal = [](const char* preset, const char* capability, const char* format) {
    Transformer model = test::llama_3_1_8b();
    requantise(model, format);
    Gpu gpu = test::gpu_of("card", 80.0);
    gpu.compute_capability = capability;
    try {
      resolve_engine(preset, {}, model, gpu, {});
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal("vllm-0.19", "7.5", "fp8"), "none");
  EXPECT_EQ(refusal("vllm-0.13", "7.5", "fp8"),
            "weights in fp8: vllm-0.11 needs compute capability 8.0 for them, card has 7.5");
  EXPECT_THAT(refusal("vllm-0.19", "7.0", "fp8"), HasSubstr("capability 7.5"));
  EXPECT_THAT(refusal("vllm-0.19", "7.5", "mxfp4"), HasSubstr("capability 8.0"));
  EXPECT_EQ(refusal("vllm-0.19", "7.0", "gptq"), "none");
  EXPECT_THAT(refusal("sglang", "7.5", "fp8_block"), HasSubstr("capability 8.0"));
  EXPECT_THAT(refusal("trtllm", "8.0", "fp8"), HasSubstr("capability 8.9"));
  EXPECT_THAT(refusal("trtllm", "9.0", "nvfp4"), HasSubstr("capability 10.0"));
  EXPECT_EQ(refusal("trtllm", "9.0", "fp8"), "none");
  EXPECT_EQ(refusal("vllm-0.13", "gfx942", "fp8"), "none");
}

// DeepEP's buffers are 2,048 MiB more where decodes are captured, and 1,024 more where prefills
// are, beside the 33,584 of the above: 36,656, 0.548. Without graphs 33,584 - 1,024 - 304: 0.602.
TEST(SglangDefaults, ReserveDeepEpsBuffers) {
  const auto fraction = [](const EngineOverrides& given) {
    return resolve_engine("sglang", given, test::mixtral_8x7b(), test::h100(), {.data = 8})
        .gpu_memory_utilization;
  };
  EXPECT_DOUBLE_EQ(fraction({.all2all_backend = All2All::deepep}), 0.548);
  EXPECT_DOUBLE_EQ(fraction({.enforce_eager = true, .all2all_backend = All2All::deepep}), 0.602);
}

// 0.829 as above for the text model; with an encoder prefills are not captured, 0.834. SigLIP of
// Gemma 3: 27 layers of 1152 are 1.4238 times ViT-L/14's 24 of 1024 squared: 0.95 * (1 - 0.1 *
// 0.4238) = 0.90974.
TEST(SglangDefaults, AnEncoderTakesAShareOfTheMemoryFraction) {
  Transformer model = test::gemma_3_27b();
  const auto fraction = [&](const EngineOverrides& given = {}) {
    return resolve_engine("sglang", given, model, test::h100(), {}).gpu_memory_utilization;
  };
  EXPECT_DOUBLE_EQ(fraction(), 0.829);
  model.has_vision = true;
  EXPECT_NEAR(fraction(), 0.834 * 0.95, 1e-9);
  model.vision_layers = 27;
  model.vision_hidden = 1152;
  EXPECT_NEAR(fraction(), 0.834 * 0.95 * (1 - 0.1 * (27.0 * 81 / (24 * 64) - 1)), 1e-9);
  model.vision_hidden = 4096;
  EXPECT_NEAR(fraction(), 0.834 * 0.95 * 0.8, 1e-9);
  EXPECT_DOUBLE_EQ(fraction({.gpu_memory_utilization = 0.8}), 0.8);
}

// 0.19 config/model.py, is_prefix_caching_supported; 0.13.0 switched it off even when asked to.
TEST(VllmDefaults, ModelsWithRecurrentLayersCacheNoPrefixesUnlessAskedTo) {
  const auto caches = [](const std::string& preset, const Transformer& model,
                         const EngineOverrides& given = {}) {
    return resolve_engine(preset, given, model, test::h100(), {}).prefix_caching;
  };
  EXPECT_TRUE(caches("vllm-0.29", test::qwen3_next_80b()));  // vllm-project/vllm pull 50991
  EXPECT_FALSE(caches("vllm-0.29", test::qwen3_next_80b(), {.enable_prefix_caching = false}));
  for (const char* preset : {"vllm-0.11", "vllm-0.15", "vllm-0.19", "vllm-0.20", "vllm-0.22"}) {
    EXPECT_FALSE(caches(preset, test::qwen3_next_80b())) << preset;
    EXPECT_FALSE(caches(preset, test::nemotron_3_nano())) << preset;
    EXPECT_TRUE(caches(preset, test::gemma_3_27b())) << preset;
    EXPECT_EQ(caches(preset, test::qwen3_next_80b(), {.enable_prefix_caching = true}),
              std::string(preset) != "vllm-0.11");
  }
  EXPECT_TRUE(caches("sglang", test::qwen3_next_80b()));
}

// sgl-project/sglang pulls 28151 ("auto" chooses extra_buffer, after 0.5.13) and 29965 (not on
// ROCm); 3 slots of the state pool for the radix cache, 5 with states that are tracked.
TEST(SglangDefaults, RecurrentStatesAreTrackedByDefaultSince0514) {
  Transformer model = test::qwen3_next_80b();
  model.architecture = "Qwen3NextForCausalLM";
  const auto schedule = [&](const std::string& preset, const EngineOverrides& given = {},
                            const std::string& vendor = "NVIDIA") {
    Gpu gpu = test::h100();
    gpu.vendor = vendor;
    const Engine engine = resolve_engine(preset, given, model, gpu, {});
    return std::pair(engine.async_scheduling, engine.state_slots);
  };
  EXPECT_EQ(schedule("sglang-0.5.13"), std::pair(false, std::int64_t{3}));
  EXPECT_EQ(schedule("sglang-0.5.13", {.async_scheduling = true}),
            std::pair(true, std::int64_t{5}));
  EXPECT_EQ(schedule("sglang-0.5.13", {.enable_prefix_caching = false}),
            std::pair(true, std::int64_t{1}));
  EXPECT_EQ(schedule("sglang-0.5.14"), std::pair(true, std::int64_t{5}));
  EXPECT_EQ(schedule("sglang"), std::pair(true, std::int64_t{5}));
  EXPECT_EQ(schedule("sglang", {}, "AMD"), std::pair(false, std::int64_t{3}));
  EXPECT_THROW(schedule("sglang", {.async_scheduling = true}, "AMD"), UsageError);
  model.architecture = "AnotherForCausalLM";
  EXPECT_EQ(schedule("sglang"), std::pair(false, std::int64_t{3}));
  EXPECT_THROW(schedule("sglang", {.async_scheduling = true}), UsageError);
}

// SGLANG_ENABLE_SPEC_V2 was needed for the overlap schedule before 0.5.11.
TEST(SglangDefaults, DraftsAreOverlappedSince0511) {
  const auto overlaps = [](const std::string& preset, std::optional<bool> asked = {}) {
    return engine_on(test::h100(), preset,
                     {.async_scheduling = asked,
                      .num_speculative_tokens = 3,
                      .speculative_method = DraftMethod::eagle,
                      .acceptance_rate = 0.7})
        .async_scheduling;
  };
  EXPECT_FALSE(overlaps("sglang-0.5.10"));
  EXPECT_TRUE(overlaps("sglang-0.5.10", true));
  EXPECT_TRUE(overlaps("sglang-0.5.11"));
  EXPECT_TRUE(overlaps("sglang"));
  EXPECT_FALSE(overlaps("sglang", false));
  EXPECT_TRUE(engine_on(test::h100(), "sglang-0.5.10").async_scheduling);
}

// 0.5.8, server_args.py: page_size 64 on CUDA GPUs, kv_cache_dtype fp8_e4m3 where the compute
// capability's major is 10 or more.
TEST(SglangDefaults, SparseLatentsHaveAnEightBitCacheOnBlackwell) {
  const Transformer sparse = test::deepseek_v3_2();
  const auto engine_of = [](const Transformer& model, const std::string& capability,
                            const EngineOverrides& given = {}) {
    Gpu gpu = test::h100();
    gpu.vendor = capability.starts_with("gfx") ? "AMD" : "NVIDIA";
    gpu.compute_capability = capability;
    return resolve_engine("sglang", given, model, gpu, {.tensor = 8});
  };
  EXPECT_EQ(engine_of(sparse, "10.0").kv_cache_dtype, DType::fp8);
  EXPECT_EQ(engine_of(sparse, "10.0").block_size, 64);
  EXPECT_EQ(engine_of(sparse, "10.0", {.kv_cache_dtype = DType::bf16}).kv_cache_dtype, DType::bf16);
  EXPECT_EQ(engine_of(sparse, "9.0").kv_cache_dtype, DType::bf16);
  EXPECT_EQ(engine_of(sparse, "9.0").block_size, 64);
  EXPECT_THROW(engine_of(sparse, "9.0", {.block_size = 16}), UsageError);
  EXPECT_EQ(engine_of(sparse, "gfx950").block_size, 1);
  EXPECT_EQ(engine_of(test::deepseek_v3(), "10.0").kv_cache_dtype, DType::bf16);
  EXPECT_EQ(engine_of(test::deepseek_v3(), "10.0").block_size, 1);
}

// sglang/srt/server_args.py.
TEST(SglangDefaults, OfItsScheduler) {
  const Engine engine = engine_on(test::h100(), "sglang");
  EXPECT_EQ(engine.max_prefill_tokens, 16384);
  EXPECT_DOUBLE_EQ(engine.schedule_conservativeness, 1.0);
  EXPECT_FALSE(engine.enable_mixed_chunk);
  EXPECT_TRUE(engine.chunked_prefill);
  EXPECT_TRUE(engine.prefix_caching);
  EXPECT_TRUE(engine.async_scheduling);
  EXPECT_EQ(engine.order, QueueOrder::fcfs);
  // 1, 2, 4, 8, 12, 16 to 256 by 8: 5 and 31 sizes.
  EXPECT_EQ(engine.graph_batch_sizes.size(), 36u);
}

TEST(SglangDefaults, KnobsOfOtherEnginesAreRefusedAndOthersRefuseSglangs) {
  const auto refusal = [](const char* preset, const EngineOverrides& knobs) {
    return message_of<UsageError>(test::h100(), preset, knobs);
  };
  EXPECT_THAT(refusal("sglang", {.scheduling_policy = QueueOrder::priority}),
              HasSubstr("priority given for sglang, expected fcfs, lpm or lof"));
  EXPECT_THAT(refusal("vllm-0.19", {.scheduling_policy = QueueOrder::longest_prefix}),
              HasSubstr("lpm given for vllm-0.19, expected fcfs or priority"));
  EXPECT_THAT(
      refusal("vllm-0.19", {.enable_mixed_chunk = true}),
      HasSubstr("`enable_mixed_chunk`: not supported by vllm-0.19, expected engine sglang"));
  EXPECT_THAT(refusal("trtllm", {.max_prefill_tokens = 8192}), HasSubstr("expected engine sglang"));
  EXPECT_THAT(refusal("sglang", {.schedule_conservativeness = 0.0}), HasSubstr("more than 0"));
  EXPECT_THAT(refusal("sglang", {.max_num_batched_tokens = 1000, .block_size = 16}),
              HasSubstr("expected a multiple of `block_size` (16)"));
}

TEST(TensorrtDefaults, AreThoseOfTrtllmServe) {
  const Engine engine = engine_on(test::h100(), "trtllm");
  EXPECT_EQ(engine.block_size, 32);
  EXPECT_EQ(engine.max_num_batched_tokens, 8192);
  EXPECT_EQ(engine.max_num_seqs, 2048);
  EXPECT_DOUBLE_EQ(engine.gpu_memory_utilization, 0.9);
  EXPECT_FALSE(engine.chunked_prefill);
  EXPECT_TRUE(engine.async_scheduling);
  EXPECT_EQ(engine.capacity_scheduler_policy, CapacityPolicy::guaranteed_no_evict);
  EXPECT_EQ(engine.context_chunking_policy, ChunkingPolicy::first_come_first_served);
}

// 1.1.0rc2, fused_moe_cutlass.py, select_alltoall_method_type: an exchange of single tokens takes
// more ranks than experts that a token picks (8 of DeepSeek-V3) and a Grace host.
TEST(TensorrtDefaults, TokensOfDataParallelRanksAreGatheredUpTo1_1) {
  Gpu grace = test::h100();
  grace.host =
      Link{.name = "NVLink-C2C", .bandwidth = BytesPerSecond{450e9}, .latency = Seconds{1e-5}};
  const auto exchange = [](const char* preset, const Gpu& gpu, int ranks,
                           const EngineOverrides& given = {}) {
    return resolve_engine(preset, given, test::deepseek_v3(), gpu,
                          {.data = ranks, .expert_parallel = true})
        .all2all;
  };
  EXPECT_EQ(exchange("trtllm-1.1.0rc2", test::h100(), 8), All2All::allgather_reducescatter);
  EXPECT_EQ(exchange("trtllm-1.0", grace, 8), All2All::allgather_reducescatter);
  EXPECT_EQ(exchange("trtllm-1.0", grace, 16), All2All::deepep);
  EXPECT_EQ(exchange("trtllm-1.1", test::h100(), 16), All2All::allgather_reducescatter);
  EXPECT_EQ(exchange("trtllm-1.2", test::h100(), 8), All2All::deepep);
  EXPECT_EQ(exchange("trtllm", test::h100(), 8), All2All::deepep);
  EXPECT_EQ(exchange("trtllm-1.1", test::h100(), 8, {.all2all_backend = All2All::deepep}),
            All2All::deepep);
}

// NVIDIA/TensorRT-LLM pull 16564: of 256 requests on GB200 the sampler leaves most of 8.8 ms
// between two steps. 1.0's default is the C++ sampler, and compiled engines have no other.
TEST(TensorrtDefaults, PyTorchSamplesRequestByRequestFrom1_1On) {
  Gpu gb200 = test::h100();
  gb200.host =
      Link{.name = "NVLink-C2C", .bandwidth = BytesPerSecond{450e9}, .latency = Seconds{1e-5}};
  for (const char* preset : {"trtllm-1.1", "trtllm-1.2", "trtllm-1.3", "trtllm"}) {
    EXPECT_NEAR(256 * engine_on(gb200, preset).host.serial_per_sequence.value, 8.8e-3, 0.2e-3);
  }
  for (const char* preset : {"trtllm-1.0", "trtllm-0.19", "trtllm-0.18"}) {
    EXPECT_EQ(engine_on(gb200, preset).host.serial_per_sequence.value, 0) << preset;
  }
}

// A Grace CPU runs the same Python for longer. How far ranks drift apart and the handover of K and
// V are not the host's work alone, and only TensorRT-LLM's launches were seen to take longer.
TEST(EngineDefaults, HostWorkTakesLongerOnAGraceCpu) {
  using H = HostOverhead;
  Gpu grace = test::h100();
  grace.host =
      Link{.name = "NVLink-C2C", .bandwidth = BytesPerSecond{450e9}, .latency = Seconds{1e-5}};
  for (const std::string preset : {"vllm", "sglang", "trtllm"}) {
    const H x86 = engine_on(test::h100(), preset).host;
    const H slow = engine_on(grace, preset).host;
    for (Seconds H::*const term : {&H::step_base, &H::per_sequence, &H::output_base,
                                   &H::output_per_sequence, &H::graph_launch, &H::per_request}) {
      EXPECT_GT((slow.*term).value, (x86.*term).value) << preset;
    }
    for (Seconds H::*const term : {&H::kernel_launch, &H::eager_launch, &H::prompt_launch}) {
      EXPECT_EQ((slow.*term).value > (x86.*term).value, preset == "trtllm") << preset;
    }
    EXPECT_EQ(slow.rank_skew.value, x86.rank_skew.value);
    EXPECT_EQ(slow.handover.value, x86.handover.value);
  }
  const H compiled = engine_on(grace, "trtllm-0.18").host;  // launches without Python
  EXPECT_EQ(compiled.eager_launch.value,
            engine_on(test::h100(), "trtllm-0.18").host.eager_launch.value);
  grace.measured.emplace().engine_step = Seconds{1e-3};  // on that CPU
  EXPECT_EQ(engine_on(grace, "roofcast").host.step_base.value, 1e-3);
}

TEST(TensorrtPolicies, AreReadAsTheirEnumIsWrittenInEitherCase) {
  for (const CapacityPolicy policy :
       {CapacityPolicy::guaranteed_no_evict, CapacityPolicy::max_utilization,
        CapacityPolicy::static_batch}) {
    EXPECT_EQ(parse_capacity_policy(name_of(policy)), policy);
  }
  EXPECT_EQ(parse_capacity_policy("max-utilization"), CapacityPolicy::max_utilization);
  EXPECT_EQ(parse_chunking_policy("EQUAL_PROGRESS"), ChunkingPolicy::equal_progress);
  EXPECT_EQ(parse_chunking_policy("first_come_first_served"),
            ChunkingPolicy::first_come_first_served);
  EXPECT_EQ(parse_capacity_policy("EQUAL_PROGRESS"), std::nullopt);
  EXPECT_EQ(parse_chunking_policy(""), std::nullopt);
}

// Prompts are cut at multiples of a block of 32 tokens: a step of 31 could hold none.
TEST(TensorrtLimits, AChunkMustFitAStep) {
  EXPECT_THROW(engine_on(test::h100(), "trtllm",
                         {.max_num_batched_tokens = 31, .enable_chunked_prefill = true}),
               UsageError);
  EXPECT_EQ(engine_on(test::h100(), "trtllm",
                      {.max_num_batched_tokens = 32, .enable_chunked_prefill = true})
                .max_num_batched_tokens,
            32);
}

TEST(ResolveEngine, TensorrtPoliciesAreTensorrtsAlone) {
  for (const char* preset : {"vllm", "sglang", "static", "naive"}) {
    EXPECT_THROW(engine_on(test::h100(), preset,
                           {.capacity_scheduler_policy = CapacityPolicy::static_batch}),
                 UsageError);
    EXPECT_THROW(engine_on(test::h100(), preset,
                           {.context_chunking_policy = ChunkingPolicy::equal_progress}),
                 UsageError);
  }
}

TEST(ResolveEngine, LoopsHaveNoPrefixCache) {
  for (const char* preset : {"static", "naive"}) {
    EXPECT_FALSE(engine_on(test::h100(), preset).prefix_caching) << preset;
    EXPECT_THAT(message_of<UsageError>(test::h100(), preset, {.enable_prefix_caching = true}),
                HasSubstr("expected any engine but static and naive"));
  }
}

TEST(ResolveEngine, AKnobThatAnEngineDoesNotHaveIsRefused) {
  const auto refused = [](const char* preset, const EngineOverrides& overrides) {
    EXPECT_THROW(engine_on(test::h100(), preset, overrides), UsageError) << preset;
  };
  for (const char* preset : {"sglang", "trtllm", "static", "naive"}) {
    refused(preset, {.reserve_full_sequence = true});
    refused(preset, {.long_prefill_token_threshold = 512});
    refused(preset, {.watermark = 0.01});
  }
  for (const char* preset : {"vllm", "sglang", "trtllm"}) refused(preset, {.overhead = Bytes{1e9}});
  for (const char* preset : {"textbook", "static", "naive"}) {
    EXPECT_EQ(engine_on(test::h100(), preset, {.overhead = Bytes{1e9}}).overhead, Bytes{1e9})
        << preset;
  }
}

TEST(ResolveEngine, CountsBeyondWhatEnginesCountAreRefused) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (const EngineOverrides& overrides :
       {EngineOverrides{.max_model_len = kLargest}, EngineOverrides{.max_num_seqs = kLargest},
        EngineOverrides{.max_num_batched_tokens = kLargest},
        EngineOverrides{.block_size = kLargest}, EngineOverrides{.block_size = (1 << 20) + 1},
        EngineOverrides{.num_gpu_blocks_override = kLargest},
        EngineOverrides{.max_loras = kLargest},
        EngineOverrides{.long_prefill_token_threshold = kLargest}}) {
    EXPECT_THROW(engine_on(test::h100(), "vllm", overrides), UsageError);
  }
  EXPECT_EQ(engine_on(test::h100(), "vllm", {.block_size = 1 << 20}).block_size, 1 << 20);
}

// 32 prompts of at most 131,072 tokens (llama-3.1-8b) in one step: 4,194,304.
TEST(StaticDefaults, ABatchIsComputedInOneStepHoweverLong) {
  const Engine engine = engine_on(test::h100(), "static");
  EXPECT_EQ(engine.scheduler, SchedulerKind::static_batch);
  EXPECT_EQ(engine.memory_rule, MemoryRule::textbook);
  EXPECT_EQ(engine.max_num_seqs, 32);
  EXPECT_EQ(engine.max_num_batched_tokens, 4'194'304);
  EXPECT_FALSE(engine.async_scheduling);
}

TEST(NaiveDefaults, OneSequenceRunsWhole) {
  const Engine engine = engine_on(test::h100(), "naive");
  EXPECT_EQ(engine.scheduler, SchedulerKind::naive);
  EXPECT_EQ(engine.max_num_seqs, 1);
  EXPECT_EQ(engine.max_num_batched_tokens, 131'072);
  EXPECT_THROW(engine_on(test::h100(), "naive", {.max_num_seqs = 2}), UsageError);
}

// The small engine of roofcast measure: vLLM's scheduler, without what is another program's.
TEST(OwnEngineDefaults, NothingIsPaddedSharedOrAddedToWhatWasMeasured) {
  const Engine engine = engine_on(test::h100(), "roofcast");
  EXPECT_EQ(engine.scheduler, SchedulerKind::vllm_v1);
  EXPECT_EQ(engine.memory_rule, MemoryRule::textbook);
  EXPECT_EQ(engine.block_size, 16);
  EXPECT_FALSE(engine.async_scheduling);
  EXPECT_FALSE(engine.prefix_caching);
  EXPECT_TRUE(engine.chunked_prefill);
  EXPECT_EQ(padded_batch(engine, 3), 3);
  for (const Seconds time :
       {engine.host.step_base, engine.host.per_sequence, engine.host.output_base,
        engine.host.output_per_sequence, engine.host.graph_launch, engine.host.kernel_launch,
        engine.host.eager_launch, engine.host.prompt_launch, engine.host.per_request,
        engine.host.per_prompt_token}) {
    EXPECT_EQ(time, Seconds{});
  }
}

TEST(OwnEngineDefaults, ContiguousKAndVAreReservedToTheTokenAndNotShared) {
  for (const char* preset : {"roofcast", "textbook"}) {
    const Engine engine = engine_on(test::h100(), preset, {.kv_reservation = KvReservation::max});
    EXPECT_EQ(engine.kv_reservation, KvReservation::max);
    EXPECT_EQ(engine.block_size, 1);
    EXPECT_FALSE(engine.prefix_caching);
  }
  EXPECT_EQ(engine_on(test::h100(), "roofcast",
                      {.block_size = 64, .kv_reservation = KvReservation::oracle})
                .block_size,
            64);
  EXPECT_THAT(message_of<UsageError>(
                  test::h100(), "roofcast",
                  {.kv_reservation = KvReservation::pow2, .enable_prefix_caching = true}),
              HasSubstr("`kv_reservation`: pow2 given with `enable_prefix_caching`"));
  EXPECT_THAT(message_of<UsageError>(
                  test::h100(), "roofcast",
                  {.kv_reservation = KvReservation::max, .kv_offloading_size = Bytes{1e9}}),
              HasSubstr("kv_offloading_size"));
  EXPECT_THAT(message_of<UsageError>(test::h100(), "vllm", {.kv_reservation = KvReservation::max}),
              HasSubstr("not supported by vllm-0.19, expected engine roofcast or textbook"));
}

TEST(OwnEngineDefaults, TakeTheHostTimeOfTheProfile) {
  Gpu gpu = test::h100();
  gpu.measured = Measured();
  gpu.measured->graph_launch = Seconds{8e-6};
  gpu.measured->engine_step = Seconds{3e-5};
  EXPECT_EQ(engine_on(gpu, "roofcast").host.step_base, Seconds{3e-5});
  EXPECT_EQ(engine_on(gpu, "roofcast").host.graph_launch, Seconds{8e-6});
  // Another engine's host work is its own.
  EXPECT_EQ(engine_on(gpu, "vllm").host.step_base, HostOverhead{}.step_base);
}

TEST(ResolveEngine, ACpuHasNoCudaGraphs) {
  Gpu cpu = test::h100();
  cpu.compute_capability = "avx512_bf16";
  for (const char* preset : {"roofcast", "vllm", "sglang"}) {
    const Engine engine = engine_on(cpu, preset);
    EXPECT_FALSE(engine.cuda_graphs) << preset;
    EXPECT_EQ(padded_batch(engine, 3), 3) << preset;
  }
}

TEST(ResolveEngine, ACacheSizedInBytesIsVllmsAlone) {
  const EngineOverrides stated{.kv_cache_memory = Bytes{8e9}};
  for (const char* preset : {"sglang", "trtllm", "textbook"}) {
    EXPECT_THROW(resolve_engine(preset, stated, test::llama_3_1_8b(), test::h100(), {}), UsageError)
        << preset;
  }
}

TEST(TensorrtLlm, RunsOnNvidiasGpusOnly) {
  for (const char* name : {"trtllm", "trtllm-1.2", "trtllm-0.18"}) {
    EXPECT_THAT(message_of<UsageError>(test::mi355x(), name, {}), HasSubstr("NVIDIA's GPUs only"));
    EXPECT_EQ(message_of<UsageError>(test::h100(), name, {}), "no error") << name;
  }
}

// ---- ATOM (0.1.1 to 0.1.5, atom/model_engine/arg_utils.py)

Engine atom_on(const std::string& name, const EngineOverrides& given = {},
               const Parallelism& parallel = {}) {
  return resolve_engine(name, given, test::deepseek_v3(), test::mi355x(), parallel);
}

TEST(Atom, StartsWithItsCommandLinesDefaults) {
  const Engine engine = atom_on("atom-0.1.2");
  EXPECT_EQ(engine.name, "atom");
  EXPECT_EQ(engine.version, "atom-0.1.2");
  EXPECT_EQ(engine.max_num_seqs, 512);
  EXPECT_EQ(engine.max_num_batched_tokens, 16384);
  EXPECT_EQ(engine.block_size, 16);
  EXPECT_DOUBLE_EQ(engine.gpu_memory_utilization, 0.9);
  EXPECT_EQ(engine.kv_cache_dtype, DType::bf16);
  EXPECT_TRUE(engine.async_scheduling);
  EXPECT_THAT(engine.graph_batch_sizes, ElementsAre(1, 2, 4, 8, 16, 32, 48, 64, 128, 256));
  EXPECT_EQ(padded_batch(engine, 33, 4), 48 * 4);  // sequences, whatever their drafts
}

TEST(Atom, CutsPromptsAndCachesPrefixesFrom013On) {
  for (const char* name : {"atom-0.1.1", "atom-0.1.2.post"}) {
    EXPECT_FALSE(atom_on(name).chunked_prefill) << name;
    EXPECT_FALSE(atom_on(name).prefix_caching) << name;
    EXPECT_TRUE(atom_on(name, {.enable_prefix_caching = true}).prefix_caching) << name;
  }
  for (const char* name : {"atom-0.1.3", "atom-0.1", "atom", "atom-0.1.5"}) {
    EXPECT_TRUE(atom_on(name).chunked_prefill) << name;
    EXPECT_TRUE(atom_on(name).prefix_caching) << name;
    EXPECT_EQ(atom_on(name).graph_batch_sizes.back(), 512) << name;
  }
  EXPECT_FALSE(atom_on("atom", {.enable_chunked_prefill = false}).chunked_prefill);
}

TEST(Atom, RefusesWhatItDoesNotStartWith) {
  const auto message = [](const std::string& name, const EngineOverrides& given,
                          const Parallelism& parallel = {}) -> std::string {
    try {
      atom_on(name, given, parallel);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message_of<UsageError>(test::h100(), "atom", {}), HasSubstr("AMD's GPUs only"));
  EXPECT_THAT(message_of<Error>(test::mi355x(), "atom-0.0.9", {}), HasSubstr("unknown engine"));
  EXPECT_THAT(message("atom-0.1.2", {.enable_chunked_prefill = true}), HasSubstr("from 0.1.3 on"));
  EXPECT_THAT(message("atom-0.1.2", {.max_num_seqs = 128}), HasSubstr("at least 256"));
  EXPECT_EQ(atom_on("atom", {.max_num_seqs = 200}).graph_batch_sizes.back(), 128);
  EXPECT_THAT(message("atom", {.max_num_seqs = 4, .cuda_graph_batch_sizes = {{8, 16}}}),
              HasSubstr("at least 16"));
  EXPECT_THAT(message("atom-0.1.2", {.cuda_graph_max_bs = 512}), HasSubstr("captures up to 256"));
  EXPECT_EQ(message("atom", {.max_num_seqs = 4, .enforce_eager = true}), "");
  EXPECT_THAT(message("atom", {.skip_tokenizer_init = true}), HasSubstr("any engine but atom"));
  EXPECT_THAT(message("atom", {.async_scheduling = false}), HasSubstr("deferred output"));
  EXPECT_THAT(message("atom", {.stream_interval = 2}), HasSubstr("every token"));
  EXPECT_THAT(message("atom", {.max_loras = 2}), HasSubstr("no LoRA adapters"));
  EXPECT_THAT(message("atom", {}, {.pipeline = 2}), HasSubstr("no stages"));
  EXPECT_THAT(message("atom", {}, {.tensor = 16}), HasSubstr("at most 8"));
  const auto drafts = [](std::int64_t number, DraftMethod method) -> EngineOverrides {
    return {.num_speculative_tokens = number, .speculative_method = method, .acceptance_rate = 0.7};
  };
  EXPECT_EQ(message("atom-0.1.1", drafts(4, DraftMethod::mtp)), "");
  EXPECT_THAT(message("atom-0.1.1", drafts(5, DraftMethod::mtp)), HasSubstr("at most 4"));
  EXPECT_THAT(message("atom-0.1.2", drafts(3, DraftMethod::eagle)), HasSubstr("expected mtp"));
  EXPECT_EQ(message("atom-0.1.3", drafts(3, DraftMethod::eagle)), "");
  EXPECT_THAT(message("atom", drafts(3, DraftMethod::ngram)), HasSubstr("mtp or eagle"));
  EXPECT_THROW(resolve_engine("atom", {}, test::qwen3_next_80b(), test::mi355x(), {}), UsageError);
}

}  // namespace
}  // namespace roofcast

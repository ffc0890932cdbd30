#include "model/engines/engine_features.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "model/architecture/requantise.hpp"
#include "model/engines/engine.hpp"
#include "tests/model/deployments.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Engine engine_with(const EngineOverrides& overrides, const std::string& preset = "vllm-0.19",
                   const Parallelism& parallel = {}) {
  return resolve_engine(preset, overrides, test::llama_3_1_8b(), test::h100(), parallel);
}

std::string feature_error(const EngineOverrides& overrides,
                          const std::string& preset = "vllm-0.19") {
  try {
    engine_with(overrides, preset);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(EngineFeatures, PromptsThatComeAsTokenIdsNeedNoTokenising) {
  for (const char* preset : {"vllm-0.19", "sglang", "trtllm-1.2"}) {
    EXPECT_GT(engine_with({}, preset).host.per_prompt_token.value, 0) << preset;
    EXPECT_EQ(engine_with({.skip_tokenizer_init = true}, preset).host.per_prompt_token.value, 0)
        << preset;
  }
}

// vLLM 0.22, config/vllm.py: "Disabling asynchronous scheduling by default for pooling model."
TEST(Pooling, SchedulesStepByStepInVllmUnlessToldOtherwise) {
  EXPECT_FALSE(engine_with({.pooling = true}).async_scheduling);
  EXPECT_TRUE(engine_with({.async_scheduling = true, .pooling = true}).async_scheduling);
  EXPECT_TRUE(engine_with({.pooling = true}, "sglang").async_scheduling);
  EXPECT_THAT(feature_error({.num_speculative_tokens = 2, .acceptance_rate = 0.5, .pooling = true}),
              HasSubstr("excludes `pooling`"));
  EXPECT_THAT(feature_error({.pooling = true}, "trtllm"), HasSubstr("engine vllm or sglang"));
}

// vLLM's own table of models (test_config.py, test_is_chunked_prefill_supported): BAAI/bge-base-en
// is "encoder_only", without chunked prefill and prefix caching. Its context becomes the step's
// least budget.
TEST(Encoders, PoolWholePromptsBehindVllm) {
  Transformer encoder = test::gpt2_small();
  encoder.name = "an-encoder";
  for (Layer& layer : encoder.layers) {
    std::get<Attention>(layer.mixer).span.kind = AttentionSpan::Kind::both;
  }
  const auto engine_of = [&](const EngineOverrides& given, const std::string& preset) {
    return resolve_engine(preset, given, encoder, test::h100(), {});
  };
  const auto error = [&](const EngineOverrides& given, const std::string& preset) -> std::string {
    try {
      engine_of(given, preset);
    } catch (const UsageError& caught) {
      return caught.what();
    }
    return "no error";
  };
  const Engine engine = engine_of({}, "vllm-0.19");
  EXPECT_TRUE(engine.pooling);
  EXPECT_FALSE(engine.chunked_prefill);
  EXPECT_FALSE(engine.prefix_caching);
  EXPECT_FALSE(engine.async_scheduling);
  EXPECT_EQ(error({.enable_chunked_prefill = true}, "vllm-0.19"),
            "`enable_chunked_prefill`: on given, but an-encoder is an encoder, expected off");
  EXPECT_THAT(error({.enable_prefix_caching = true}, "vllm-0.19"), HasSubstr("expected off"));
  EXPECT_THAT(error({.pooling = false}, "vllm-0.19"), HasSubstr("expected on"));
  EXPECT_THAT(error({}, "sglang"), HasSubstr("behind vLLM only"));
  EXPECT_THAT(error({.max_num_batched_tokens = 512}, "vllm-0.19"), HasSubstr("1024"));
}

// vllm-project/vllm pulls 44558 and 46532 are of June 2026.
TEST(PrefillScheduleInterval, IsVllmsFrom0_24On) {
  const EngineOverrides given{.prefill_schedule_interval = 4};
  EXPECT_THAT(feature_error(given, "vllm-0.23"), HasSubstr("from 0.24 on"));
  EXPECT_EQ(engine_with(given, "vllm-0.24").prefill_schedule_interval, 4);
  EXPECT_EQ(engine_with({}, "vllm-0.29").prefill_schedule_interval, 1);
  EXPECT_THAT(feature_error(given, "sglang"), HasSubstr("one of the vLLM engines"));
  EXPECT_THROW(engine_with(given, "vllm-0.29", {.pipeline = 2}), UsageError);
}

TEST(Speculation, IsOffByDefault) {
  const Engine engine = engine_with({});
  EXPECT_FALSE(engine.speculation.on());
  EXPECT_FALSE(engine.kv_offloading.on());
  EXPECT_EQ(engine.lora.max_loras, 1);
  EXPECT_TRUE(engine.async_scheduling);
}

TEST(Speculation, ARateHoldsForEveryDraftInTurn) {
  const Engine engine = engine_with({.num_speculative_tokens = 3, .acceptance_rate = 0.8});
  EXPECT_THAT(engine.speculation.acceptance,
              ElementsAre(0.8, DoubleNear(0.64, 1e-15), DoubleNear(0.512, 1e-15)));
  EXPECT_FALSE(engine.async_scheduling);
  EXPECT_EQ(engine.speculation.lookahead(), 0);  // n-gram
  EXPECT_EQ(engine.speculation.draft_pass.value, 0.0);
}

TEST(Speculation, AHeadIsTimedWithTheStepUnlessItsTimeIsGiven) {
  EngineOverrides given{.num_speculative_tokens = 2,
                        .speculative_method = DraftMethod::eagle,
                        .acceptance_rate = 0.7};
  const Engine engine = engine_with(given);
  EXPECT_TRUE(engine.speculation.timed_head);
  EXPECT_EQ(engine.speculation.draft_pass.value, 0);
  EXPECT_EQ(engine.speculation.lookahead(), 2);
  given.draft_pass_time = Seconds{0.001};
  EXPECT_FALSE(engine_with(given).speculation.timed_head);
  EXPECT_EQ(engine_with(given).speculation.draft_pass.value, 0.001);
  given.draft_pass_time.reset();
  given.speculative_method = DraftMethod::ngram;
  EXPECT_FALSE(engine_with(given).speculation.timed_head);
}

TEST(Speculation, AnMtpLayerBesideFourBitWeightsIsIn16Bits) {
  for (const char* format : {"nvfp4", "mxfp4"}) {
    Transformer model = test::deepseek_v3();
    requantise(model, format);
    const Layer drafts = draft_layer(model, DraftMethod::mtp);
    EXPECT_EQ(drafts.ffn_format, plain_format(DType::bf16)) << format;
    EXPECT_EQ(output_format_of(drafts), plain_format(DType::bf16)) << format;
  }
  Transformer model = test::deepseek_v3();
  model.layers.back().ffn_format = weight_format_named("nvfp4");
  model.layers.back().mixer_format = weight_format_named("fp8_block");
  const Layer drafts = draft_layer(model, DraftMethod::mtp);
  EXPECT_EQ(drafts.ffn_format, plain_format(DType::bf16));
  EXPECT_EQ(drafts.mixer_format.name, "fp8_block");
  EXPECT_EQ(draft_layer(model, DraftMethod::eagle), model.layers.back());
}

TEST(Speculation, AcceptanceIsOffDraftByDraft) {
  // Each draft 0.7 given those before it, off by 0.1: 0.8, 0.8 x 0.8, or 0.6, 0.6 x 0.6.
  const Speculation drafting =
      engine_with(
          {.num_speculative_tokens = 2, .acceptance_rate = 0.7, .acceptance_deviation = 0.1})
          .speculation;
  EXPECT_THAT(deviating_acceptance(drafting, 1),
              ElementsAre(DoubleNear(0.8, 1e-12), DoubleNear(0.64, 1e-12)));
  EXPECT_THAT(deviating_acceptance(drafting, -1),
              ElementsAre(DoubleNear(0.6, 1e-12), DoubleNear(0.36, 1e-12)));
  EXPECT_THAT(deviating_acceptance(drafting, 4), ElementsAre(1, 1));
  // 0.8 of the first, half of those of the second.
  const Speculation by_position =
      engine_with({.num_speculative_tokens = 2,
                   .acceptance_by_position = std::vector<double>{0.8, 0.4},
                   .acceptance_deviation = 0.1})
          .speculation;
  EXPECT_THAT(deviating_acceptance(by_position, -1),
              ElementsAre(DoubleNear(0.7, 1e-12), DoubleNear(0.28, 1e-12)));
}

TEST(Speculation, HeadsAreScheduledAsynchronouslyWhereTheEngineIs) {
  const EngineOverrides eagle{.num_speculative_tokens = 2,
                              .speculative_method = DraftMethod::eagle,
                              .acceptance_rate = 0.7};
  EXPECT_TRUE(engine_with(eagle).async_scheduling);
  EXPECT_FALSE(engine_with(eagle, "vllm-0.11").async_scheduling);
  EXPECT_TRUE(decides_ahead(engine_with(eagle)));
}

TEST(Speculation, SglangRuns48SequencesUnlessTold) {
  EngineOverrides given{.num_speculative_tokens = 2, .acceptance_rate = 0.5};
  EXPECT_EQ(engine_with(given, "sglang").max_num_seqs, 48);
  EXPECT_EQ(decode_slots(engine_with(given, "sglang")), 6);  // twice a token and two drafts
  EXPECT_EQ(decode_slots(engine_with(given, "trtllm")), 3);
  given.max_num_seqs = 512;
  EXPECT_EQ(engine_with(given, "sglang").max_num_seqs, 512);
  EXPECT_EQ(engine_with({}, "sglang").max_num_seqs, 2048);
}

// SGLang 0.5.15 asserts that there are none (check_server_args); vLLM's documents say so up to
// 0.15.
TEST(Speculation, IsRefusedInPipelinesWhereTheEngineRefusesIt) {
  const auto message = [](const char* engine) -> std::string {
    try {
      resolve_engine(engine, {.num_speculative_tokens = 2, .acceptance_rate = 0.5},
                     test::llama_3_1_8b(), test::h100(), {.pipeline = 2});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("sglang"), HasSubstr("no drafts with pipeline stages"));
  EXPECT_THAT(message("vllm-0.15"), HasSubstr("before 0.16"));
  EXPECT_EQ(message("vllm-0.16"), "");
  EXPECT_EQ(message("vllm-0.19"), "");
}

// SGLang's own setting for most models: five steps of four branches, eight tokens verified. Slots
// for the longest paths, 5 x 4, are more than for those; twice of them.
TEST(Speculation, ATreeVerifiesTokensOfWhichOnePathIsAccepted) {
  const auto engine_of = [](std::optional<std::int64_t> topk, std::optional<std::int64_t> tokens) {
    return engine_with({.num_speculative_tokens = 5,
                        .speculative_method = DraftMethod::eagle,
                        .acceptance_rate = 0.7,
                        .speculative_eagle_topk = topk,
                        .speculative_num_draft_tokens = tokens},
                       "sglang");
  };
  const Engine tree = engine_of(4, 8);
  EXPECT_EQ(tree.speculation.verified(), 8);
  EXPECT_EQ(tree.speculation.acceptance.size(), 5u);
  EXPECT_EQ(decode_slots(tree), 40);
  const Engine chain = engine_of({}, {});
  EXPECT_EQ(chain.speculation.verified(), 6);
  EXPECT_EQ(decode_slots(chain), 12);
  EXPECT_THROW(engine_of(4, {}), UsageError);
  EXPECT_THROW(engine_of(4, 5), UsageError);  // no more than the longest path
}

// Each of its passes reads the draft model: 2 GB over two ranks.
TEST(Speculation, ADraftModelIsTimedByItsWeights) {
  const EngineOverrides overrides{.num_speculative_tokens = 2,
                                  .speculative_method = DraftMethod::draft_model,
                                  .acceptance_rate = 0.7,
                                  .draft_weight_bytes = Bytes{2e9}};
  const Engine engine = engine_with(overrides, "vllm-0.19", {.tensor = 2});
  EXPECT_DOUBLE_EQ(engine.speculation.draft_pass.value, 1e9 / test::h100().memory_bandwidth.value);
}

TEST(Speculation, GraphsAreCapturedForTheDraftsToo) {
  // 0.19: up to min(max_num_seqs x (1 + drafts) x 2, 512) tokens: 16 x 4 x 2 = 128; without, 32.
  EngineOverrides given{.max_num_seqs = 16};
  EXPECT_EQ(engine_with(given).graph_batch_sizes.back(), 32);
  given.num_speculative_tokens = 3;
  given.acceptance_rate = 0.7;
  EXPECT_EQ(engine_with(given).graph_batch_sizes.back(), 128);
}

TEST(Speculation, SaysWhatIsMissingOrContradicts) {
  EXPECT_THAT(feature_error({.num_speculative_tokens = 2}), HasSubstr("acceptance_rate"));
  EXPECT_THAT(feature_error({.num_speculative_tokens = 1'000'000'000'000, .acceptance_rate = 0.5}),
              HasSubstr("expected 1 to 1000"));
  EXPECT_THAT(feature_error({.num_speculative_tokens = 2, .acceptance_rate = 1.5}),
              HasSubstr("from 0 to 1"));
  EXPECT_THAT(feature_error({.num_speculative_tokens = 2,
                             .acceptance_by_position = std::vector<double>{0.5}}),
              HasSubstr("expected 2 non-increasing shares"));
  EXPECT_THAT(feature_error({.num_speculative_tokens = 2,
                             .acceptance_by_position = std::vector<double>{0.5, 0.6}}),
              HasSubstr("non-increasing shares"));
  EXPECT_THAT(feature_error({.num_speculative_tokens = 2,
                             .speculative_method = DraftMethod::draft_model,
                             .acceptance_rate = 0.5}),
              HasSubstr("draft_pass_time"));
  EXPECT_THAT(feature_error(
                  {.async_scheduling = true, .num_speculative_tokens = 2, .acceptance_rate = 0.5}),
              HasSubstr("async_scheduling"));
  EXPECT_THAT(feature_error({.num_speculative_tokens = 2, .acceptance_rate = 0.5}, "static"),
              HasSubstr("any engine but static and naive"));
  EXPECT_THAT(feature_error(
                  {.enable_mixed_chunk = true, .num_speculative_tokens = 2, .acceptance_rate = 0.5},
                  "sglang"),
              HasSubstr("enable_mixed_chunk"));
}

TEST(Speculation, WhatDescribesDraftsNeedsDrafts) {
  EXPECT_EQ(feature_error({.speculative_method = DraftMethod::eagle}),
            "`speculative_method`: requires `num_speculative_tokens`");
  EXPECT_EQ(feature_error({.acceptance_rate = 0.5}),
            "`acceptance_rate`: requires `num_speculative_tokens`");
  EXPECT_EQ(feature_error({.acceptance_by_position = std::vector<double>{0.5}}),
            "`acceptance_by_position`: requires `num_speculative_tokens`");
  EXPECT_EQ(feature_error({.draft_pass_time = Seconds{0.001}}),
            "`draft_pass_time`: requires `num_speculative_tokens`");
}

// vllm-project/vllm pull 23693, in 0.11.
TEST(BatchOverlap, IsNotOfVersionsBeforeIt) {
  EXPECT_THAT(feature_error({.enable_dbo = true}, "vllm-0.10"), HasSubstr("from 0.11 on"));
  EXPECT_THAT(feature_error({.enable_dbo = true}, "vllm-0.11"), HasSubstr("`all2all_backend`"));
}

// 0.5.15 server_args.py: hicache_ratio 2.0 unless hicache_size is given.
TEST(HierarchicalCache, HoldsTwiceTheKvCacheUnlessToldOtherwise) {
  const auto cache = [](EngineOverrides given) {
    Gpu gpu = test::h100();
    gpu.host = Link{.name = "PCIe", .bandwidth = BytesPerSecond{55e9}, .latency = Seconds{2e-6}};
    given.enable_hierarchical_cache = true;
    return resolve_engine("sglang", given, test::llama_3_1_8b(), gpu, {}).hierarchical_cache;
  };
  EXPECT_FALSE(engine_with({}, "sglang").hierarchical_cache.on());
  EXPECT_EQ(cache({}).ratio, 2.0);
  EXPECT_EQ(cache({}).bandwidth, BytesPerSecond{55e9});
  EXPECT_EQ(cache({.hicache_ratio = 4.0}).ratio, 4.0);
  EXPECT_EQ(cache({.hicache_size = Bytes{64e9}}).size, Bytes{64e9});
  EXPECT_EQ(feature_error({.enable_hierarchical_cache = true, .hicache_ratio = 0.0}, "sglang"),
            "`hicache_ratio`: 0 given, expected more than 0");
  EXPECT_THAT(feature_error({.hicache_ratio = 4.0}, "sglang"),
              HasSubstr("without `enable_hierarchical_cache`"));
  EXPECT_THAT(
      feature_error({.enable_prefix_caching = false, .enable_hierarchical_cache = true}, "sglang"),
      HasSubstr("`enable_hierarchical_cache`: requires prefix caching"));
  EXPECT_THAT(feature_error({.enable_hierarchical_cache = true}, "sglang"),
              HasSubstr("has no host_link"));
  EXPECT_THAT(feature_error({.enable_hierarchical_cache = true}),
              HasSubstr("expected engine sglang"));
}

TEST(KvOffloading, ItsLinkNeedsMemoryToLinkTo) {
  EXPECT_EQ(feature_error({.kv_offloading_bandwidth = BytesPerSecond{25e9}}),
            "`kv_offloading_bandwidth`: requires `kv_offloading_size`");
  EXPECT_EQ(feature_error({.kv_offloading_latency = Seconds{1e-4}}),
            "`kv_offloading_latency`: requires `kv_offloading_size`");
}

TEST(EngineFeatures, TimesAndRatesBeyondAnyMachineAreRefusedByName) {
  EXPECT_THAT(
      feature_error(
          {.num_speculative_tokens = 1, .acceptance_rate = 0.5, .draft_pass_time = Seconds{1e300}}),
      HasSubstr("`draft_pass_time`: 1e+300 seconds given, expected 0 to 3600"));
  EXPECT_THAT(feature_error({.lora_step_time = Seconds{3601}}),
              HasSubstr("`lora_step_time`: 3601"));
  EXPECT_THAT(feature_error({.lora_adapter_time = Seconds{-1}}),
              HasSubstr("`lora_adapter_time`: -1"));
  EXPECT_THAT(feature_error({.kv_offloading_size = Bytes{1e9},
                             .kv_offloading_bandwidth = BytesPerSecond{25e9},
                             .kv_offloading_latency = Seconds{1e300}}),
              HasSubstr("`kv_offloading_latency`: 1e+300"));
  EXPECT_THAT(
      feature_error(
          {.kv_offloading_size = Bytes{1e9}, .kv_offloading_bandwidth = BytesPerSecond{1e-300}}),
      HasSubstr("`kv_offloading_bandwidth`: 1e-300 bytes/s given, expected at least 1e+06"));
  EXPECT_EQ(feature_error({.lora_step_time = Seconds{3600},
                           .kv_offloading_size = Bytes{1e9},
                           .kv_offloading_bandwidth = kSlowestLink}),
            "no error");
}

// Llama-3.1-8B, rank 16: three kernels of at least 3, 3 and 2 us beside each of 128 matrices, and
// 80 MiB to read of each adapter; times that are given stand.
TEST(Lora, TakesItsKernelsAndItsMatrices) {
  const Engine engine = engine_with({.max_lora_rank = 16});
  EXPECT_DOUBLE_EQ(engine.lora.step.value, 128 * 8e-6);
  EXPECT_DOUBLE_EQ(engine.lora.adapter.value,
                   80.0 * 1024 * 1024 / test::h100().memory_bandwidth.value);
  EXPECT_EQ(engine_with({}).lora.step.value, 0);
  const Engine given = engine_with({.lora_step_time = Seconds{1e-4}, .max_lora_rank = 16});
  EXPECT_EQ(given.lora.step.value, 1e-4);
}

TEST(KvOffloading, IsSharedByTheRanks) {
  const Engine engine = engine_with({.kv_offloading_size = Bytes{64e9},
                                     .kv_offloading_bandwidth = BytesPerSecond{25e9},
                                     .kv_offloading_latency = Seconds{1e-4}},
                                    "vllm-0.19", {.tensor = 4});
  EXPECT_DOUBLE_EQ(engine.kv_offloading.size.value, 16e9);
  EXPECT_DOUBLE_EQ(engine.kv_offloading.bandwidth.value, 25e9);
  EXPECT_DOUBLE_EQ(engine.kv_offloading.latency.value, 1e-4);
}

TEST(KvOffloading, UsesTheHostLinkOfTheGpu) {
  Gpu gpu = test::h100();
  gpu.host =
      Link{.name = "PCIe 5 x16", .bandwidth = BytesPerSecond{64e9}, .latency = Seconds{1e-5}};
  const Engine engine = resolve_engine("vllm-0.19", {.kv_offloading_size = Bytes{1e9}},
                                       test::llama_3_1_8b(), gpu, {});
  EXPECT_DOUBLE_EQ(engine.kv_offloading.bandwidth.value, 64e9);
  EXPECT_DOUBLE_EQ(engine.kv_offloading.latency.value, 1e-5);
  gpu.host.reset();
  EXPECT_THROW(resolve_engine("vllm-0.19", {.kv_offloading_size = Bytes{1e9}}, test::llama_3_1_8b(),
                              gpu, {}),
               UsageError);
}

TEST(KvOffloading, NeedsPrefixCaching) {
  EXPECT_THAT(feature_error({.enable_prefix_caching = false,
                             .kv_offloading_size = Bytes{1e9},
                             .kv_offloading_bandwidth = BytesPerSecond{25e9}}),
              HasSubstr("prefix caching"));
}

TEST(KvOffloading, IsRefusedForRecurrentLayersWhoseStatesStay) {
  try {
    resolve_engine("vllm-0.19",
                   {.enable_prefix_caching = true,
                    .kv_offloading_size = Bytes{1e9},
                    .kv_offloading_bandwidth = BytesPerSecond{25e9},
                    .kv_offloading_latency = Seconds{1e-5}},
                   test::qwen3_next_80b(), test::h100(), {});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("recurrent layers"));
  }
}

}  // namespace
}  // namespace roofcast

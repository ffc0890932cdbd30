// Memory that plans count beside the model's own weights and one rank's tokens: experts under data
// parallelism, copies of matrices, padding, adapters, drafts, and sequences divided among ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/error.hpp"
#include "model/architecture/requantise.hpp"
#include "model/architecture/weights.hpp"
#include "model/memory/activation_peak.hpp"
#include "model/memory/memory_plan.hpp"
#include "tests/model/deployments.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using ::testing::HasSubstr;

Gpu h200() { return test::gpu_of("nvidia-h200-sxm", 139.80); }

Bytes term_of(const MemoryPlan& plan, const std::string& name) {
  Bytes bytes;
  for (const MemoryTerm& one : plan.terms) {
    if (one.name == name) bytes += one.bytes;
  }
  return bytes;
}

/// As published, in fp8.
Transformer deepseek_v3_fp8() {
  Transformer model = test::deepseek_v3();
  requantise(model, "fp8");
  return model;
}

Deployment deepseek_on_eight(const std::string& engine, const EngineOverrides& overrides = {}) {
  return test::deploy(deepseek_v3_fp8(), h200(), engine, overrides,
                      {.data = 8, .expert_parallel = true});
}

ActivationShape shape_of(const Deployment& deployment) {
  return activation_shape(deployment.model, deployment.engine, deployment.parallel);
}

// FlashInfer's fused all-reduce keeps a buffer for what all ranks send at once and three for small
// messages, each as large. Llama-3.1-70B has 16,384 bytes a token: four ranks of a GB300 may send
// 64 MiB, 4,096 tokens, and keep 4 x 4 x 64 MiB = 1 GiB; of a B200 half of that, eight of them 32
// MiB, and with 1,024 tokens a step as much as these are, 4 x 4 x 16 MiB.
TEST(AllReduce, FusedOnBlackwellTakesMemoryOutsidePyTorch) {
  const auto beside = [](const char* capability, int ranks, const EngineOverrides& given = {},
                         const char* engine = "vllm-0.22") {
    const auto on = [&](const char* one) {
      Gpu gpu = test::gpu_of("gpu", 180);
      gpu.compute_capability = one;
      return term_of(plan_memory(test::deploy(test::llama_3_1_70b(), gpu, engine, given,
                                              {.tensor = ranks})),
                     "non_torch")
          .value;
    };
    return (on(capability) - on("9.0")) / (1024 * 1024);
  };
  EXPECT_DOUBLE_EQ(beside("10.3", 4), 1024);
  EXPECT_DOUBLE_EQ(beside("10.0", 4), 512);
  EXPECT_DOUBLE_EQ(beside("10.0", 2), 512);
  EXPECT_DOUBLE_EQ(beside("10.0", 8), 32);
  EXPECT_DOUBLE_EQ(beside("10.3", 4, {.max_num_batched_tokens = 1024}), 256);
  EXPECT_DOUBLE_EQ(beside("10.3", 1), 0);
  EXPECT_DOUBLE_EQ(beside("10.3", 4, {.enforce_eager = true}), 0);
  EXPECT_DOUBLE_EQ(beside("10.3", 4, {}, "vllm-0.16"), 0);
}

// vLLM 0.19 sizes both buffers for the tokens of all ranks: 8 x 8,192 tokens x 8 experts x (7,168 +
// 7,168) elements x 2 bytes = 14.0 GiB; on one rank of tensor parallelism an eighth, 1.75 GiB.
TEST(DataParallelExperts, HoldTheTokensOfAllRanks) {
  EXPECT_EQ(shape_of(deepseek_on_eight("vllm-0.19")).expert_workspace.value,
            65536.0 * 8 * 14336 * 2);
  const Deployment tensor = test::deploy(test::deepseek_v3(), h200(), "vllm-0.19", {},
                                         {.tensor = 8, .expert_parallel = true});
  EXPECT_EQ(shape_of(tensor).expert_workspace.value, 8192.0 * 8 * 14336 * 2);
}

// VLLM_FUSED_MOE_CHUNK_SIZE: 32,768 tokens up to 0.11, 16,384 from 0.12 to 0.17, none from 0.18
// (vllm-project/vllm pulls 7995, 27426, 34086). From 0.12 the profile run holds a whole chunk even
// of fewer tokens, if experts are on data-parallel ranks: 8 x 512 tokens are 4,096.
TEST(DataParallelExperts, AreComputedInChunksUpTo0_17) {
  const auto tokens = [](const char* engine, std::optional<std::int64_t> budget) {
    return shape_of(deepseek_on_eight(engine, {.max_num_batched_tokens = budget}))
               .expert_workspace.value /
           (8 * 14336 * 2);
  };
  EXPECT_EQ(tokens("vllm-0.11", {}), 32768);
  EXPECT_EQ(tokens("vllm-2025", {}), 32768);  // is vllm-0.11
  EXPECT_EQ(tokens("vllm-0.12", {}), 16384);
  EXPECT_EQ(tokens("vllm-0.17", {}), 16384);
  EXPECT_EQ(tokens("vllm-0.18", {}), 65536);
  EXPECT_EQ(tokens("vllm-0.11", 1024), 8192);
  EXPECT_EQ(tokens("vllm-0.13", 1024), 16384);
  EXPECT_EQ(tokens("vllm-0.18", 1024), 8192);
}

// Marlin's kernels of four-bit experts are called without chunks, except in an exchange of ranks.
TEST(DataParallelExperts, OfFourBitsAreNotChunkedOnOneRank) {
  Transformer model = test::deepseek_v3();
  requantise(model, "awq");
  const auto tokens = [&](const Parallelism& parallel) {
    return shape_of(test::deploy(model, h200(), "vllm-0.11", {.max_num_batched_tokens = 64000},
                                 parallel))
               .expert_workspace.value /
           (8 * 14336 * 2);
  };
  EXPECT_EQ(tokens({.tensor = 8, .expert_parallel = true}), 64000);
  EXPECT_EQ(tokens({.data = 8, .expert_parallel = true}), 32768);
}

// DeepEP's low-latency kernels: 32 experts, each with room for 256 tokens of 8 ranks, of which two
// buffers hold max(7,168, 2 x 2,048) and 2,048 elements. From 0.20 on these are the tokens of a
// step, 256 unless given.
TEST(DataParallelExperts, TakeFewTokensFromLowLatencyKernels) {
  const auto deployment = [](const char* engine, std::optional<std::int64_t> budget) {
    return deepseek_on_eight(
        engine, {.max_num_batched_tokens = budget, .all2all_backend = All2All::deepep_low_latency});
  };
  const double expected = 32.0 * 256 * 8 * (7168 + 2048) * 2;
  EXPECT_EQ(shape_of(deployment("vllm-0.19", {})).expert_workspace.value, expected);
  EXPECT_EQ(deployment("vllm-0.19", {}).engine.max_num_batched_tokens, 8192);
  EXPECT_EQ(deployment("vllm-0.20", {}).engine.max_num_batched_tokens, 256);
  EXPECT_EQ(deployment("vllm-0.20", {}).engine.max_num_seqs, 256);
  EXPECT_EQ(shape_of(deployment("vllm-0.20", {})).expert_workspace.value, expected);
  EXPECT_EQ(shape_of(deployment("vllm-0.20", 1024)).expert_workspace.value, 4 * expected);
}

// The states of all ranks' tokens are gathered in fp8: 65,536 x 7,168 bytes; in 16 bits where each
// rank has a part of every expert.
TEST(DataParallelExperts, AreGathered) {
  EXPECT_EQ(shape_of(deepseek_on_eight("vllm-0.19")).gathered.value, 65536.0 * 7168);
  const Deployment split = test::deploy(test::deepseek_v3(), h200(), "vllm-0.19", {}, {.data = 8});
  EXPECT_EQ(shape_of(split).gathered.value, 65536.0 * 7168 * 2);
}

// 65,536 tokens of context x 128 heads x (128 + 128) elements x 2 bytes = 4 GiB on one rank of data
// parallelism, an eighth with eight of tensor parallelism; of sparse attention, too, from 0.16 on.
TEST(LatentAttention, RebuildsTheContextOfALongPromptInTheProfileRun) {
  EXPECT_EQ(shape_of(deepseek_on_eight("vllm-0.19")).up_projected.value, 4 * kGiB);
  const Deployment tensor =
      test::deploy(test::deepseek_v3(), h200(), "vllm-0.19", {}, {.tensor = 8});
  EXPECT_EQ(shape_of(tensor).up_projected.value, kGiB / 2);
  const auto sparse = [](const char* engine) {
    return shape_of(test::deploy(test::deepseek_v3_2(), h200(), engine)).up_projected.value;
  };
  EXPECT_EQ(sparse("vllm-0.15"), 0);
  EXPECT_EQ(sparse("vllm-0.16"), 4 * kGiB);
  // Four blocks of 16 for each of 4 sequences are fewer than eight of 1,000 tokens.
  const Deployment shorter = test::deploy(test::deepseek_v3(), h200(), "vllm-0.19",
                                          {.max_model_len = 1000, .max_num_seqs = 4});
  EXPECT_EQ(shape_of(shorter).up_projected.value, 8000.0 * 128 * 256 * 2);
}

// The indexer gathers keys of 40 prompts of 163,840 tokens, 132 bytes each: 865,075,200 bytes, as
// vLLM's source works it out (attention/backends/mla/indexer.py); FlashMLA's sparse kernels five
// prompts of 576 elements of 2 bytes from an 8-bit cache, 943,718,400. From 0.14 on they share the
// experts' buffer of 8,192 x 8 x 14,336 x 2 bytes; on one of 64 ranks that is the smaller.
TEST(SparseAttention, SharesTheExpertsWorkspace) {
  const auto deployment = [](const char* engine, DType cache, const char* capability = "9.0") {
    Gpu gpu = h200();
    gpu.compute_capability = capability;
    return test::deploy(test::deepseek_v3_2(), gpu, engine,
                        {.max_model_len = 163'840, .kv_cache_dtype = cache});
  };
  const auto gathered = [&](const char* engine, DType cache, const char* capability = "9.0") {
    return shape_of(deployment(engine, cache, capability)).gathered_keys.value;
  };
  EXPECT_EQ(gathered("vllm-0.19", DType::bf16), 865'075'200);
  EXPECT_EQ(gathered("vllm-0.19", DType::fp8), 943'718'400);
  EXPECT_EQ(gathered("vllm-0.18", DType::fp8, "10.0"), 943'718'400);
  EXPECT_EQ(gathered("vllm-0.19", DType::fp8, "10.0"), 865'075'200);
  const Deployment few = deployment("vllm-0.19", DType::bf16);
  ActivationShape shape = shape_of(few);
  const Bytes with_experts = sampler_peak(shape, few.engine.memory);
  shape.gathered_keys = Bytes{};  // smaller than 1.88 GB
  EXPECT_EQ(sampler_peak(shape, few.engine.memory), with_experts);
  shape.gathered_keys = Bytes{8192.0 * 8 * 14336 * 2 + 1e9};
  EXPECT_EQ((sampler_peak(shape, few.engine.memory) - with_experts).value, 1e9);
}

// Scores of 512 sequences of 163,840 tokens, 4 bytes each, are held by the largest decode graph and
// by the run before it: 2 x 335,544,320 bytes, less than the 4 GiB of the context that the other
// graphs' run rebuilds on one GPU.
TEST(SparseAttention, TakesMemoryInGraphs) {
  const auto in_graphs = [](std::int64_t length, int tensor) {
    const Deployment deployment = test::deploy(test::deepseek_v3_2(), h200(), "vllm-0.22",
                                               {.max_model_len = length}, {.tensor = tensor});
    EXPECT_EQ(deployment.engine.graph_batch_sizes.back(), 512);
    return attention_in_graphs(deployment.model, deployment.engine, deployment.parallel).value;
  };
  EXPECT_EQ(in_graphs(163'840, 1), 4 * kGiB);
  EXPECT_EQ(in_graphs(163'840, 8), 2.0 * 512 * 163'840 * 4);
  EXPECT_EQ(in_graphs(1'000, 64), 512.0 * 1024 * 1024);  // an indexer's scores of prompts
  const auto term = [](const char* engine) {
    return term_of(plan_memory(test::deploy(test::deepseek_v3_2(), h200(), engine,
                                            {.max_model_len = 163'840}, {.tensor = 8})),
                   "cuda_graphs")
        .value;
  };
  EXPECT_NEAR(term("vllm-0.22"), (0.43 + 61 * 0.0155) * kGiB + 2.0 * 512 * 163'840 * 4, 1);
  EXPECT_NEAR(term("vllm-0.20"), (0.43 + 61 * 0.0155) * kGiB, 1);  // captured later
}

// 61 layers x 512 x 32,768 elements x 2 bytes = 2.05 GB on one rank (fp8 weights). SGLang keeps
// them in fp8 if they have one scale a tensor, and bf16 weights need no copy in vLLM.
TEST(LatentAttention, KeepsItsAbsorbedMatrices) {
  const auto absorbed = [](Transformer model, const char* engine, int tensor) {
    return term_of(
               plan_memory(test::deploy(std::move(model), h200(), engine, {}, {.tensor = tensor})),
               "weights.absorbed")
        .value;
  };
  EXPECT_EQ(absorbed(deepseek_v3_fp8(), "vllm-0.19", 1), 61.0 * 512 * 32768 * 2);
  EXPECT_EQ(absorbed(deepseek_v3_fp8(), "vllm-0.19", 8), 61.0 * 512 * 4096 * 2);
  const auto in_format = [](const char* format) {
    Transformer model = test::deepseek_v3();
    requantise(model, format);
    return model;
  };
  EXPECT_EQ(absorbed(in_format("fp8_block"), "sglang", 8), 61.0 * 512 * 4096 * 2);
  EXPECT_EQ(absorbed(in_format("awq"), "sglang", 8), 61.0 * 512 * 4096 * 2);
  EXPECT_EQ(absorbed(in_format("int8"), "sglang", 8), 61.0 * 512 * 4096 * 2);
  EXPECT_EQ(absorbed(in_format("fp8_per_tensor"), "sglang", 8), 61.0 * 512 * 4096);
  EXPECT_EQ(absorbed(test::deepseek_v3(), "vllm-0.19", 8), 0);  // in bf16
  EXPECT_EQ(absorbed(test::deepseek_v3(), "sglang", 8), 61.0 * 512 * 4096 * 2);
}

// 256 and 32 more experts on 8 ranks are 36 on each instead of 32.
TEST(RedundantExperts, TakeTheMemoryOfAsManyMore) {
  Deployment deployment = deepseek_on_eight("vllm-0.19");
  const double without = term_of(plan_memory(deployment), "weights.experts").value;
  deployment.parallel.redundant_experts = 32;
  EXPECT_NEAR(term_of(plan_memory(deployment), "weights.experts").value / without, 36.0 / 32.0,
              1e-9);
}

// Widths of 2,880 become 3,072 (hidden) and 2,944 for Marlin's kernels: 9.04 % more; an eighth of
// the width, 360, becomes 384: 13.8 %. Triton's on Hopper, from 0.12 on, want multiples of 64 of
// the width alone: 2,880 is one, 360 becomes 384. Blackwell's kernels want multiples of 256 in
// both: 3,072 x 3,072, and from 0.27 on 3,072 x 2,944 again.
TEST(ExpertPadding, RoundsTheWidthsOfMxfp4Experts) {
  const auto plan_on = [](Gpu gpu, int tensor, const char* engine = "vllm-0.22",
                          const EngineOverrides& given = {}) {
    return plan_memory(
        test::deploy(test::gpt_oss_20b(), std::move(gpu), engine, given, {.tensor = tensor}));
  };
  Gpu hopper = h200();
  hopper.compute_capability = "9.0";
  EngineOverrides marlin;
  marlin.moe_backend = MoeBackend::marlin;
  const double matrices = 24.0 * 32 * 3 * 2880 * 2880 * 4.25 / 8;
  for (const MemoryPlan& one :
       {plan_on(hopper, 1, "vllm-0.22", marlin), plan_on(hopper, 1, "vllm-0.11")}) {
    EXPECT_NEAR(term_of(one, "weights.expert_padding").value,
                matrices * (3072.0 * 2944 / (2880.0 * 2880) - 1), 1.0);
  }
  EXPECT_NEAR(term_of(plan_on(hopper, 8, "vllm-0.22", marlin), "weights.expert_padding").value,
              matrices / 8 * (3072.0 * 384 / (2880.0 * 360) - 1), 1.0);
  EXPECT_EQ(term_of(plan_on(hopper, 1), "weights.expert_padding").value, 0);
  EXPECT_NEAR(term_of(plan_on(hopper, 8), "weights.expert_padding").value,
              matrices / 8 * (384.0 / 360 - 1), 1.0);
  Gpu blackwell = test::gpu_of("b200", 178.35);
  blackwell.compute_capability = "10.0";
  EXPECT_NEAR(term_of(plan_on(blackwell, 1), "weights.expert_padding").value,
              matrices * (3072.0 * 3072 / (2880.0 * 2880) - 1), 1.0);
  EXPECT_NEAR(term_of(plan_on(blackwell, 1, "vllm-0.27"), "weights.expert_padding").value,
              matrices * (3072.0 * 2944 / (2880.0 * 2880) - 1), 1.0);
}

// Llama-3.1-8B, for each of 32 layers and each of 16 ranks: query, key and value 3 x 4,096 + 6,144,
// output 4,096 + 4,096, gate and up 2 x 4,096 + 28,672, down 14,336 + 4,096 = 81,920 elements of 2
// bytes: 80 MiB an adapter.
TEST(LoraAdapters, TakeMemoryByRank) {
  const auto adapters = [](std::int64_t rank, std::int64_t count) {
    return term_of(plan_memory(test::deploy(test::llama_3_1_8b(), test::h100(), "vllm-0.19",
                                            {.max_loras = count, .max_lora_rank = rank})),
                   "weights.lora")
        .value;
  };
  EXPECT_EQ(adapters(16, 1), 80.0 * 1024 * 1024);
  EXPECT_EQ(adapters(64, 4), 16 * 80.0 * 1024 * 1024);
}

// Kimi-K2 on eight H200 with --decode-context-parallel-size 8 prints 5,721,088 tokens (vLLM's
// recipe of November 2025); the same 46.8 GiB hold an eighth without: 44,696 blocks of 16 of 70,272
// bytes.
TEST(DecodeContextParallelism, MultipliesTheTokensOfLatentAttention) {
  EngineOverrides overrides{.block_size = 16, .num_gpu_blocks_override = 44'696};
  const auto tokens = [&] {
    return plan_memory(
               test::deploy(test::deepseek_v3(), h200(), "vllm-0.19", overrides, {.tensor = 8}))
        .kv_tokens;
  };
  EXPECT_EQ(tokens(), 715'136);
  overrides.decode_context_parallel_size = 8;
  EXPECT_EQ(tokens(), 5'721'088);
}

TEST(DecodeContextParallelism, IsRefusedWhereNoHeadsAreRepeated) {
  const auto message = [](Transformer model, std::int64_t ranks, int tensor) -> std::string {
    try {
      test::deploy(std::move(model), h200(), "vllm-0.19", {.decode_context_parallel_size = ranks},
                   {.tensor = tensor});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(test::llama_3_1_8b(), 2, 8), HasSubstr("a divisor of the 1 ranks"));
  EXPECT_EQ(message(test::llama_3_1_8b(), 2, 16), "");  // 8 heads on 16 ranks
  EXPECT_THAT(message(test::deepseek_v3(), 3, 8), HasSubstr("a divisor of the 8 ranks"));
  EXPECT_THAT(message(test::qwen3_next_80b(), 2, 8), HasSubstr("windows or states"));
}

// 256 experts of 3 x 7,168 x 2,048 over 2 x 4 ranks are 32 each, as over two ranks of each of four
// data-parallel ranks; all else is the share of TP 2, and so is the cache.
TEST(PromptRanks, ShareExpertsAndRepeatTheRest) {
  const Transformer model = test::deepseek_v3();
  const Parallelism divided{.tensor = 2, .context = 4, .expert_parallel = true};
  EXPECT_EQ(divided.gpus(), 8);
  const double width = model.layers.back().ffn_format.bits_per_weight / 8;
  const auto experts = [&](const Parallelism& parallel) {
    for (const PartBytes& part : weight_bytes_by_part(model, parallel)) {
      if (part.part == Part::experts) return part.bytes.value;
    }
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(experts(divided), 58 * 32.0 * 3 * 7168 * 2048 * width);
  EXPECT_EQ(weight_bytes(model, divided),
            weight_bytes(model, {.tensor = 2, .data = 4, .expert_parallel = true}));
  const auto plan = [&](const Parallelism& parallel) {
    return plan_memory(
        test::deploy(model, h200(), "vllm-0.29", {.num_gpu_blocks_override = 1000}, parallel));
  };
  EXPECT_EQ(plan(divided).kv_tokens, plan({.tensor = 2, .expert_parallel = true}).kv_tokens);
}

TEST(PromptRanks, AreRefusedWhereTheEngineHasNone) {
  const auto message = [](Transformer model, const std::string& engine,
                          EngineOverrides overrides = {},
                          Parallelism parallel = {.tensor = 2, .context = 4}) -> std::string {
    try {
      test::deploy(std::move(model), h200(), engine, overrides, parallel);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(test::deepseek_v3(), "vllm-0.29"), "");
  EXPECT_EQ(message(test::deepseek_v3(), "vllm-0.27"), "");
  EXPECT_THAT(message(test::deepseek_v3(), "vllm-0.26"), HasSubstr("vllm-0.27 or later"));
  EXPECT_THAT(message(test::llama_3_1_8b(), "vllm-0.29"), HasSubstr("latent attention only"));
  EXPECT_THAT(message(test::deepseek_v3(), "vllm-0.29", {}, {.data = 2, .context = 4}),
              HasSubstr("data-parallel ranks"));
  EXPECT_THAT(message(test::deepseek_v3(), "vllm-0.29", {}, {.pipeline = 2, .context = 4}),
              HasSubstr("pipeline stages"));
  EXPECT_THAT(message(test::deepseek_v3(), "vllm-0.29", {.max_lora_rank = 16}), HasSubstr("LoRA"));
  EXPECT_THAT(message(test::deepseek_v3(), "trtllm"), HasSubstr("expected vllm or sglang"));
  EXPECT_THAT(message(test::llama_3_1_8b(), "sglang"), HasSubstr("DeepseekV3ForCausalLM"));
  Transformer named = test::deepseek_v3();
  named.architecture = "DeepseekV3ForCausalLM";
  EXPECT_EQ(message(named, "sglang"), "");
  EXPECT_EQ(message(named, "sglang-0.5.13"), "");
  EXPECT_THAT(message(named, "sglang-0.5.12"), HasSubstr("from 0.5.13 on"));
}

// A draft of 2.5 GB and 32,768 bytes of K and V a token beside Llama-3.1-70B (327,680): a block of
// 16 tokens on one of four ranks grows by a tenth.
TEST(DraftModel, TakesWeightsAndCache) {
  const EngineOverrides drafts{.num_speculative_tokens = 3,
                               .speculative_method = DraftMethod::draft_model,
                               .acceptance_rate = 0.7,
                               .draft_weight_bytes = Bytes{2.5e9},
                               .draft_kv_bytes = Bytes{32768}};
  const auto plan_with = [](const EngineOverrides& overrides) {
    return plan_memory(
        test::deploy(test::llama_3_1_70b(), h200(), "vllm-0.19", overrides, {.tensor = 4}));
  };
  const MemoryPlan plan = plan_with(drafts);
  EXPECT_EQ(term_of(plan, "weights.draft").value, 2.5e9 / 4);
  EXPECT_NEAR(plan.layout.row_bytes() / plan_with({}).layout.row_bytes(), 1.1, 1e-9);
}

// vLLM 0.22.1 prints 6,131,120 tokens and 2,964.76x for gpt-oss-120b with 2,068 tokens: its tokens
// are the concurrency times the length, in 0.19 those of the blocks.
TEST(PrintedTokens, AreConcurrencyTimesLengthFrom0_21) {
  const auto plan_of = [](const char* engine) {
    return plan_memory(test::deploy(test::gpt_oss_20b(), h200(), engine, {.max_model_len = 2068}));
  };
  const MemoryPlan late = plan_of("vllm-0.22");
  EXPECT_EQ(late.kv_tokens, static_cast<std::int64_t>(std::floor(late.max_concurrency * 2068)));
  EXPECT_NE(late.kv_tokens, late.tokens_in_blocks);
  const MemoryPlan early = plan_of("vllm-0.19");
  EXPECT_EQ(early.kv_tokens, early.tokens_in_blocks);
}

// Blocks by the backend that the engine chooses: FlashMLA 64, on Hopper from 0.18 on for a narrow
// cache only, else FlashAttention 3 the default 16; on Blackwell CUTLASS 128, then FlashInfer 64
// and 32.
TEST(LatentBlocks, AreTheBackends) {
  const auto block = [](Transformer model, const char* capability, const char* engine,
                        std::optional<DType> cache) {
    Gpu gpu = test::gpu_of("gpu", 180);
    gpu.compute_capability = capability;
    return test::deploy(std::move(model), gpu, engine, {.kv_cache_dtype = cache}, {.tensor = 8})
        .engine.block_size;
  };
  EXPECT_EQ(block(test::deepseek_v3(), "9.0", "vllm-0.17", {}), 64);
  EXPECT_EQ(block(test::deepseek_v3(), "9.0", "vllm-0.18", {}), 16);
  EXPECT_EQ(block(test::deepseek_v3(), "9.0", "vllm-0.18", DType::fp8), 64);
  EXPECT_EQ(block(test::deepseek_v3(), "8.0", "vllm-0.17", {}), 16);
  EXPECT_EQ(block(test::deepseek_v3(), "10.0", "vllm-0.14", {}), 128);
  EXPECT_EQ(block(test::deepseek_v3(), "10.0", "vllm-0.15", {}), 64);
  EXPECT_EQ(block(test::deepseek_v3(), "10.0", "vllm-0.17", {}), 64);
  EXPECT_EQ(block(test::deepseek_v3(), "10.0", "vllm-0.18", {}), 32);
  for (const char* capability : {"9.0", "10.0"}) {
    EXPECT_EQ(block(test::deepseek_v3_2(), capability, "vllm-0.14", {}), 64);
    EXPECT_EQ(block(test::deepseek_v3_2(), capability, "vllm-0.19", {}), 64);
  }
  EXPECT_EQ(block(test::llama_3_1_8b(), "10.0", "vllm-0.19", {}), 16);
}

}  // namespace
}  // namespace roofcast

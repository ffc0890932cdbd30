#include "model/step/step_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "model/architecture/expert_load.hpp"
#include "model/io/model_reader.hpp"
#include "tests/model/deployments.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using test::deployment_of;
using test::round_gpu;

// Llama-3.1-8B, matrices per layer: 4096 * 6144 + 4096 * 4096 + 3 * 4096 * 14336 = 218,103,808.
constexpr double kLlamaLayers = 32.0 * 218103808.0;
constexpr double kLlamaHead = 128256.0 * 4096.0;

double total_flops(const std::vector<Work>& list, OperatorFamily family) {
  return std::accumulate(list.begin(), list.end(), 0.0, [&](double sum, const Work& work) {
    return work.family == family ? sum + work.flops.value : sum;
  });
}

double total_stored(const std::vector<Work>& list, OperatorFamily family) {
  return std::accumulate(list.begin(), list.end(), 0.0, [&](double sum, const Work& work) {
    return work.family == family ? sum + work.stored_bytes.value : sum;
  });
}

const Work* find(const std::vector<Work>& list, const std::string& name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Work& work) { return work.name == name; });
  return found == list.end() ? nullptr : &*found;
}

Deployment llama() { return deployment_of(test::llama_3_1_8b(), round_gpu()); }

TEST(Operators, MatricesOfADecodeStep) {
  const Deployment d = llama();
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 4, 99));
  EXPECT_DOUBLE_EQ(total_flops(work, OperatorFamily::gemm), 2 * 4 * (kLlamaLayers + kLlamaHead));
  EXPECT_DOUBLE_EQ(total_stored(work, OperatorFamily::gemm), 2 * (kLlamaLayers + kLlamaHead));
}

TEST(Operators, ProjectionsAreFusedAsEnginesFuseThem) {
  const Deployment d = llama();
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 1, 10));
  for (const char* name : {"qkv_proj", "o_proj", "mlp.gate_up_proj", "mlp.down_proj"}) {
    const Work* gemm = find(work, name);
    ASSERT_NE(gemm, nullptr) << name;
    EXPECT_EQ(gemm->calls, 32) << name;
  }
}

// 32 query heads to 8 KV heads: each entry is read four times, at 9 TB/s instead of 4.5: as if
// twice from memory.
TEST(Operators, EnginesThatTensorrtBuiltReadTheCacheOncePerQueryHeadOnHopper) {
  Deployment d = llama();
  d.gpu.architecture = "hopper";
  d.gpu.memory_bandwidth = BytesPerSecond{4.5e12};
  const auto read = [&d] {
    return total_stored(step_work(d, decode_batch(d.model, 4, 99)),
                        OperatorFamily::decode_attention);
  };
  const double once = read();
  d.engine.rereads_cache = true;
  EXPECT_DOUBLE_EQ(read(), 2 * once);
  d.gpu.memory_bandwidth = BytesPerSecond{1e12};  // memory is the slower of both
  EXPECT_DOUBLE_EQ(read(), once);
  d.gpu.memory_bandwidth = BytesPerSecond{4.5e12};
  d.gpu.architecture = "ampere";
  EXPECT_DOUBLE_EQ(read(), once);
  d.gpu.architecture = "hopper";
  d.engine.kv_cache_dtype = DType::fp8;
  EXPECT_DOUBLE_EQ(read(), once / 2);  // a byte an element
}

TEST(Operators, DecodeReadsTheCacheOncePerKvHead) {
  // 2 (K and V) * 8 heads * 128 * 2 bytes * 32 layers = 131,072 bytes per token attended.
  const Deployment d = llama();
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 3, 999));
  const Work* attention = find(work, "decode_attention");
  ASSERT_NE(attention, nullptr);
  EXPECT_DOUBLE_EQ(attention->stored_bytes.value, 3 * 1000 * 131072.0);
  // 4 * 32 query heads * 128 per token attended and layer.
  EXPECT_DOUBLE_EQ(attention->flops.value, 3 * 1000 * 4.0 * 32 * 128 * 32);
}

TEST(Operators, AnFp8CacheIsHalfTheBytes) {
  Deployment d = llama();
  d.engine.kv_cache_dtype = DType::fp8;
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 3, 999));
  EXPECT_DOUBLE_EQ(find(work, "decode_attention")->stored_bytes.value, 3 * 1000 * 65536.0);
}

TEST(Operators, CausalPrefillDoesHalfTheSquare) {
  // 4 * heads * head_dim * n (n + 1) / 2 a layer.
  const Deployment d = llama();
  const std::vector<Work> work = step_work(d, prefill_batch(2, 1000));
  EXPECT_DOUBLE_EQ(total_flops(work, OperatorFamily::prefill_attention),
                   2 * 32 * 4.0 * 32 * 128 * (1000.0 * 1001 / 2));
}

TEST(Operators, ChunksOfAPromptDoTheWorkOfTheWhole) {
  const Deployment d = llama();
  double chunked = 0;
  for (const std::int64_t start : {0, 300, 700}) {
    const std::int64_t tokens = start == 0 ? 300 : start == 300 ? 400 : 300;
    StepBatch batch;
    batch.prefills = {{.new_tokens = tokens, .context_tokens = start}};
    chunked += total_flops(step_work(d, batch), OperatorFamily::prefill_attention);
  }
  const double whole =
      total_flops(step_work(d, prefill_batch(1, 1000)), OperatorFamily::prefill_attention);
  EXPECT_DOUBLE_EQ(chunked, whole);
}

TEST(Operators, OnlyRowsThatEmitATokenMeetTheLmHead) {
  const Deployment d = llama();
  StepBatch batch = decode_batch(d.model, 5, 100);
  batch.prefills = {{.new_tokens = 200, .context_tokens = 0, .emits_token = true},
                    {.new_tokens = 300, .context_tokens = 0, .emits_token = false}};
  const std::vector<Work> work = step_work(d, batch);
  EXPECT_DOUBLE_EQ(find(work, "lm_head")->flops.value, 2 * 6 * kLlamaHead);
  EXPECT_DOUBLE_EQ(find(work, "o_proj")->scale, 505);
}

TEST(Operators, DecodeOnlyBatchesArePaddedToTheCapturedSize) {
  const Deployment d = llama();  // captured: ..., 8, 16, ...
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 9, 100));
  EXPECT_DOUBLE_EQ(find(work, "o_proj")->scale, 16);
  EXPECT_DOUBLE_EQ(find(work, "lm_head")->scale, 9);
  EXPECT_DOUBLE_EQ(find(work, "decode_attention")->stored_bytes.value, 9 * 101 * 131072.0);
}

TEST(Operators, WithoutGraphsNothingIsPadded) {
  Deployment d = llama();
  d.engine.cuda_graphs = false;
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 9, 100));
  EXPECT_DOUBLE_EQ(find(work, "o_proj")->scale, 9);
}

TEST(Operators, VerifyingDraftsReadsTheCacheOnce) {
  const Deployment d = llama();
  const std::vector<Work> work = step_work(d, speculative_batch(d.model, 2, 1000, 3));
  // The last of 4 new tokens attends to 1004; all four multiply with what was read.
  EXPECT_DOUBLE_EQ(find(work, "decode_attention")->stored_bytes.value, 2 * 1004 * 131072.0);
  EXPECT_DOUBLE_EQ(find(work, "lm_head")->scale, 8);
  EXPECT_DOUBLE_EQ(find(work, "o_proj")->scale, 8);
}

TEST(Operators, TensorParallelismSplitsMatricesAndAddsAllReduces) {
  const Deployment d = deployment_of(test::llama_3_1_8b(), round_gpu(), {.tensor = 2});
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 4, 99));
  EXPECT_DOUBLE_EQ(find(work, "o_proj")->stored_bytes.value, 32 * 4096.0 * 4096.0);
  EXPECT_DOUBLE_EQ(find(work, "decode_attention")->stored_bytes.value, 4 * 100 * 65536.0);
  const Work* reduce = find(work, "all_reduce");
  ASSERT_NE(reduce, nullptr);
  EXPECT_EQ(reduce->calls, 2 * 32 + 1);  // after the mixer, after the FFN; after the embedding
  EXPECT_DOUBLE_EQ(reduce->scale, 4 * 4096 * 2.0);
  EXPECT_DOUBLE_EQ(find(work, "logits_all_gather")->scale, 4 * 128256 * 2.0);
}

// MiniMax-M2 normalises queries and keys over all heads: each rank sums the squares of its own, two
// fp32 numbers a token are summed over the ranks, then each scales its own.
TEST(Operators, NormsOverAllHeadsAreSummedOverTheRanks) {
  const auto of = [](bool all_heads, const Parallelism& parallel, const std::string& name) {
    Transformer model = test::llama_3_1_8b();
    for (Layer& layer : model.layers) {
      std::get<Attention>(layer.mixer).qk_norm_elements = (all_heads ? 32 + 8 : 2) * 128;
    }
    const Deployment d = deployment_of(model, round_gpu(), parallel);
    const std::vector<Work> work = step_work(d, decode_batch(d.model, 4, 99));
    const Work* found = find(work, name);
    return found == nullptr ? Work{.calls = 0} : *found;
  };
  EXPECT_EQ(of(true, {.tensor = 2}, "qk_norm_all_reduce").calls, 32);
  EXPECT_DOUBLE_EQ(of(true, {.tensor = 2}, "qk_norm_all_reduce").scale, 4 * 2 * 4.0);
  EXPECT_EQ(of(true, {.tensor = 2}, "rope").calls, 3 * 32);
  EXPECT_EQ(of(true, {}, "qk_norm_all_reduce").calls, 0);
  EXPECT_EQ(of(true, {}, "rope").calls, 2 * 32);
  EXPECT_EQ(of(false, {.tensor = 2}, "qk_norm_all_reduce").calls, 0);
  EXPECT_EQ(of(false, {.tensor = 2}, "rope").calls, 2 * 32);
}

TEST(Operators, KvHeadsAreReplicatedBeyondTheirNumber) {
  // 8 KV heads over 16 ranks: one each, so the bytes per rank stop falling at TP 8.
  const Deployment d8 = deployment_of(test::llama_3_1_8b(), round_gpu(), {.tensor = 8});
  const Deployment d16 = deployment_of(test::llama_3_1_8b(), round_gpu(), {.tensor = 16});
  const auto bytes = [](const Deployment& d) {
    return find(step_work(d, decode_batch(d.model, 1, 99)), "decode_attention")->stored_bytes.value;
  };
  EXPECT_DOUBLE_EQ(bytes(d8), bytes(d16));
}

TEST(Operators, PipelineStagesSendTheHiddenStates) {
  const Deployment d = deployment_of(test::llama_3_1_8b(), round_gpu(), {.pipeline = 4});
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 4, 99));
  const Work* send = find(work, "pipeline_send");
  ASSERT_NE(send, nullptr);
  EXPECT_EQ(send->calls, 3);
  EXPECT_DOUBLE_EQ(send->bytes.value, 3 * 4 * 4096 * 2.0);
}

TEST(Operators, ExpertsAreReadOnlyWhenATokenPicksThem) {
  // Mixtral 8x7B: 3 * 4096 * 14336 bf16 weights an expert, 2 of 8 picked, 32 layers.
  const Deployment d = deployment_of(test::mixtral_8x7b(), round_gpu());
  const double expert = 2 * 3 * 4096.0 * 14336.0 * 32;
  const auto read = [&](std::int64_t tokens) {
    StepBatch batch = prefill_batch(1, tokens);
    return total_stored(step_work(d, batch), OperatorFamily::moe) / expert;
  };
  EXPECT_DOUBLE_EQ(read(1), 2.0);
  EXPECT_DOUBLE_EQ(read(2), 8 * (1 - 0.75 * 0.75));  // 3.5
  EXPECT_DOUBLE_EQ(read(1000), 8.0);
}

TEST(Operators, ExpertFlopsCountThePickedOnes) {
  const Deployment d = deployment_of(test::mixtral_8x7b(), round_gpu());
  const std::vector<Work> work = step_work(d, prefill_batch(1, 100));
  EXPECT_DOUBLE_EQ(total_flops(work, OperatorFamily::moe), 2 * 100 * 2 * 3 * 4096.0 * 14336.0 * 32);
}

TEST(Operators, ExpertParallelRanksShareTheTokensOfAll) {
  // 4 data-parallel ranks of 10 tokens each: a rank holds 2 of 8 experts and sees all 40 tokens,
  // a quarter of their 80 pairs.
  Deployment d =
      deployment_of(test::mixtral_8x7b(), round_gpu(), {.data = 4, .expert_parallel = true});
  d.engine.all2all = All2All::deepep_high_throughput;
  const std::vector<Work> work = step_work(d, prefill_batch(1, 10));
  const double expert = 3 * 4096.0 * 14336.0 * 32;
  EXPECT_DOUBLE_EQ(total_flops(work, OperatorFamily::moe), 2 * 20 * expert);
  const double missed = std::pow(0.75, 40);
  EXPECT_NEAR(total_stored(work, OperatorFamily::moe), 2 * (1 - missed) * 2 * expert,
              1e-9 * expert);
  // Two picks fall on 4 (1 - (3/4)^2) = 1.75 of four ranks: as many copies of a token's 4096
  // elements at 2 bytes, of which 3 of 4 leave the rank.
  EXPECT_DOUBLE_EQ(find(work, "expert_dispatch")->scale, 10 * 1.75 * 4096 * 2.0);
  EXPECT_DOUBLE_EQ(find(work, "expert_dispatch")->bytes.value, 32 * 10 * 1.75 * 4096 * 2.0 * 0.75);
  EXPECT_NE(find(work, "expert_combine"), nullptr);
}

// The busiest rank's share of the picks, of experts as they lie and after they were copied and
// moved; 8 and 4 experts on four ranks are 3 on each, of which a token picks one with 2 / 12.
TEST(Operators, TheBusiestRankDecidesWhereExpertsArePickedUnevenly) {
  Deployment d =
      deployment_of(test::mixtral_8x7b(), round_gpu(), {.data = 4, .expert_parallel = true});
  const auto experts = [&] {
    return total_flops(step_work(d, prefill_batch(1, 100)), OperatorFamily::moe);
  };
  const double even = experts();
  d.engine.expert_power_law = 1.2;
  const auto& moe = std::get<MoeFfn>(d.model.layers.front().ffn);
  const double by_chance = busiest_rank_load(moe, d.parallel, {.power_law = 1.2}, false);
  EXPECT_GT(by_chance, 1.2);
  EXPECT_NEAR(experts() / even, by_chance, 1e-9);
  d.engine.enable_eplb = true;
  d.parallel.redundant_experts = 4;
  const double moved = busiest_rank_load(moe, d.parallel, {.power_law = 1.2}, true);
  EXPECT_LT(moved, by_chance);
  EXPECT_NEAR(experts() / even, moved, 1e-9);
  const double expert = 3 * 4096.0 * 14336.0 * 32;
  // Each expert by its own popularity, picked 8 / 12 as often for its copies.
  double missed = 0;
  const std::vector<double> classes = pick_classes(moe, {.power_law = 1.2});
  for (const double one : classes) {
    missed += std::pow(1 - one * 8 / 12, 40) / static_cast<double>(classes.size());
  }
  EXPECT_NEAR(total_stored(step_work(d, prefill_batch(1, 10)), OperatorFamily::moe),
              2 * (1 - missed) * 3 * expert, 1e-9 * expert);
}

// Where 16 tokens pick 8 of 256 experts each, fewer are read if some are picked more often
// (expert_load_test.cpp): as many as the classes' probabilities say, and all 102 (1 - (1 -
// 8/256)^16 of 256) with even picks.
TEST(Operators, FewerExpertsAreReadWhereSomeArePopular) {
  Deployment d = deployment_of(test::deepseek_v3(), round_gpu(), {.tensor = 8});
  const auto read = [&] {
    return total_stored(step_work(d, prefill_batch(1, 16)), OperatorFamily::moe);
  };
  const double published = read();
  d.engine.expert_power_law = 0;
  const double even = read();
  d.model.architecture = "DeepseekV3ForCausalLM";
  d.engine.expert_power_law.reset();
  const auto& moe = std::get<MoeFfn>(d.model.layers.back().ffn);
  double hit = 0;
  for (const double one : pick_classes(moe, published_popularity(d.model, moe))) {
    hit += 1 - std::pow(1 - one, 16);
  }
  EXPECT_NEAR(even / read(), 16 * (1 - std::pow(1 - 8.0 / 256, 16)) / hit, 1e-9);
  EXPECT_LE(published, even);
}

// DeepSeek-V3 on eight ranks, whose tokens four share: a quarter of the latents are read, each for
// the 4 x 16 heads of the four, so that the arithmetic stays; around each of 61 layers the queries
// of 64 heads x 576, their denominators and sums of 512 elements are exchanged.
TEST(Operators, ContextRanksReadAPartOfTheCacheForAllTheirHeads) {
  Deployment d = deployment_of(test::deepseek_v3(), round_gpu(), {.tensor = 8});
  const StepBatch batch = decode_batch(d.model, 32, 4096);
  const std::vector<Work> whole = step_work(d, batch);
  d.engine.context_ranks = 4;
  const std::vector<Work> shared = step_work(d, batch);
  const Work& before = *find(whole, "decode_attention");
  const Work& after = *find(shared, "decode_attention");
  EXPECT_DOUBLE_EQ(after.stored_bytes.value, before.stored_bytes.value / 4);
  EXPECT_DOUBLE_EQ(after.flops.value, before.flops.value);
  EXPECT_EQ(find(whole, "context_queries"), nullptr);
  ASSERT_NE(find(shared, "context_queries"), nullptr);
  EXPECT_DOUBLE_EQ(find(shared, "context_queries")->scale, 32 * 64 * 576 * 2.0);
  EXPECT_DOUBLE_EQ(find(shared, "context_denominators")->scale, 32 * 4 * 64 * 4.0);
  EXPECT_DOUBLE_EQ(find(shared, "context_sums")->scale, 32 * 64 * 512 * 2.0);
  EXPECT_EQ(find(shared, "context_sums")->calls, 61);
  EXPECT_EQ(find(step_work(d, prefill_batch(1, 100)), "context_queries"), nullptr);
}

// DeepSeek-V3 on four context ranks of two: of a prompt of 8,192 tokens a rank has two of eight
// parts, 1,024 tokens after 3,072 and after 4,096, which attend to 1,024 x 8,193 = 8,389,632
// others, a quarter of 8,192 x 8,193 / 2. Keys (128) and values (128) of the 7,168 before them are
// rebuilt from latents of 512 for each of 64 heads. All ranks get the 576 elements of every token's
// latent in each of 61 layers, and write them.
TEST(PromptRanks, DivideAPromptAndGatherItsLatents) {
  Deployment d =
      deployment_of(test::deepseek_v3(), round_gpu(), {.tensor = 2, .expert_parallel = true});
  const StepBatch batch = prefill_batch(1, 8192);
  const std::vector<Work> whole = step_work(d, batch);
  const Parallelism alone = d.parallel;
  d.parallel.context = 4;
  const std::vector<Work> divided = step_work(d, batch);
  const double attended = 2.0 * 64 * (128 + 64 + 128) * 61;
  const double rebuilt = 2.0 * 512 * 64 * (128 + 128) * 61;
  EXPECT_DOUBLE_EQ(find(whole, "prefill_attention")->flops.value, 4 * 8'389'632 * attended);
  EXPECT_DOUBLE_EQ(find(divided, "prefill_attention")->flops.value,
                   8'389'632 * attended + 7168 * rebuilt);
  EXPECT_DOUBLE_EQ(find(divided, "o_proj")->flops.value, find(whole, "o_proj")->flops.value / 4);
  EXPECT_DOUBLE_EQ(find(divided, "kv_write")->bytes.value, find(whole, "kv_write")->bytes.value);
  EXPECT_DOUBLE_EQ(find(divided, "lm_head")->flops.value, find(whole, "lm_head")->flops.value);
  const Work* gather = find(divided, "prompt_kv_gather");
  ASSERT_NE(gather, nullptr);
  EXPECT_DOUBLE_EQ(gather->scale, 8192 * 576 * 2.0);
  EXPECT_EQ(gather->calls, 61);
  EXPECT_EQ(gather->ranks, 4);
  EXPECT_EQ(gather->stride, 2);
  EXPECT_EQ(find(whole, "prompt_kv_gather"), nullptr);
  EXPECT_DOUBLE_EQ(find(divided, "prompt_gather")->scale, 8192 * 7168 * 2.0);
  // Experts over 2 x 4 ranks get all tokens: each rank computes a quarter of what one of two does,
  // but for how much more the busiest has.
  const auto& moe = std::get<MoeFfn>(d.model.layers.back().ffn);
  const double busier =
      busiest_rank_load(moe, d.parallel, published_popularity(d.model, moe), false) /
      busiest_rank_load(moe, alone, published_popularity(d.model, moe), false);
  EXPECT_NEAR(find(divided, "experts")->flops.value / find(whole, "experts")->flops.value,
              busier / 4, 1e-9);
  EXPECT_DOUBLE_EQ(find(divided, "expert_scatter")->scale, 8192 * 7168 * 2.0);
  EXPECT_EQ(find(divided, "expert_scatter")->ranks, 8);
}

// vLLM's ranks all compute what is decoded and exchange its latents as well; SGLang's do not, and
// add up what their experts computed of it.
TEST(PromptRanks, DecodeTheSame) {
  Deployment d = deployment_of(test::deepseek_v3(), round_gpu(), {.tensor = 2});
  const StepBatch batch = decode_batch(d.model, 32, 4096);
  const std::vector<Work> alone = step_work(d, batch);
  d.parallel.context = 4;
  const std::vector<Work> vllm = step_work(d, batch);
  d.engine.scheduler = SchedulerKind::sglang;
  const std::vector<Work> sglang = step_work(d, batch);
  for (const auto* work : {&vllm, &sglang}) {
    for (const char* name : {"decode_attention", "o_proj", "kv_write", "lm_head"}) {
      EXPECT_DOUBLE_EQ(find(*work, name)->flops.value, find(alone, name)->flops.value) << name;
      EXPECT_DOUBLE_EQ(find(*work, name)->bytes.value, find(alone, name)->bytes.value) << name;
    }
  }
  EXPECT_DOUBLE_EQ(find(vllm, "prompt_kv_gather")->scale, 4 * 32 * 576 * 2.0);
  EXPECT_EQ(find(vllm, "expert_all_reduce"), nullptr);
  EXPECT_EQ(find(sglang, "prompt_kv_gather"), nullptr);
  ASSERT_NE(find(sglang, "expert_all_reduce"), nullptr);
  EXPECT_DOUBLE_EQ(find(sglang, "expert_all_reduce")->scale, 32 * 7168 * 2.0);
  EXPECT_EQ(find(sglang, "expert_all_reduce")->ranks, 4);
  EXPECT_EQ(find(sglang, "expert_gather"), nullptr);
}

// SGLang attends in the latent's absorbed form, 512 + 64 elements of keys and 512 of values for
// each of 64 heads, and divides no chunk of fewer than twice as many tokens as ranks.
TEST(PromptRanks, OfSglangAttendInAbsorbedFormAndKeepShortPromptsWhole) {
  Deployment d = deployment_of(test::deepseek_v3(), round_gpu(), {.tensor = 2, .context = 4});
  d.engine.scheduler = SchedulerKind::sglang;
  const std::vector<Work> divided = step_work(d, prefill_batch(1, 8192));
  EXPECT_DOUBLE_EQ(find(divided, "prefill_attention")->flops.value,
                   8'389'632 * 2.0 * 64 * (576 + 512) * 61);
  EXPECT_DOUBLE_EQ(find(divided, "prompt_kv_gather")->scale, 8192 * 576 * 2.0);
  const auto bytes_of_a_prompt = [&](std::int64_t tokens) {
    return find(step_work(d, prefill_batch(1, tokens)), "embedding")->bytes.value;
  };
  EXPECT_DOUBLE_EQ(bytes_of_a_prompt(8), 2 * bytes_of_a_prompt(1));
  EXPECT_DOUBLE_EQ(bytes_of_a_prompt(7), 7 * bytes_of_a_prompt(1));
}

TEST(Operators, WithoutABackendEveryRankGathersEveryToken) {
  // The 40 tokens of all four ranks, 4096 elements of 2 bytes: three of four from others.
  Deployment d =
      deployment_of(test::mixtral_8x7b(), round_gpu(), {.data = 4, .expert_parallel = true});
  const std::vector<Work> work = step_work(d, prefill_batch(1, 10));
  for (const char* name : {"expert_gather", "expert_scatter"}) {
    ASSERT_NE(find(work, name), nullptr);
    EXPECT_DOUBLE_EQ(find(work, name)->scale, 40 * 4096 * 2.0);
    EXPECT_DOUBLE_EQ(find(work, name)->bytes.value, 32 * 40 * 4096 * 2.0 * 0.75);
    EXPECT_EQ(find(work, name)->ranks, 4);
    EXPECT_EQ(find(work, name)->stride, 1);
  }
  // With the experts' width split instead, each group has one of the two ranks of tensor
  // parallelism.
  d.parallel = {.tensor = 2, .data = 4};
  EXPECT_EQ(find(step_work(d, prefill_batch(1, 10)), "expert_gather")->stride, 2);
}

// Where vLLM gathers tokens in the fp8 of the experts' inputs, SGLang and TensorRT-LLM do in 16
// bits, and SGLang adds up a buffer of all ranks' prompts.
TEST(Operators, EnginesGatherTokensInTheirWay) {
  Deployment d =
      deployment_of(load_model("deepseek-v3"), round_gpu(), {.data = 4, .expert_parallel = true});
  const double buffer = 64 * 7168 * 2.0;
  const StepBatch prompts = prefill_batch(1, 16);
  const StepBatch decodes = decode_batch(d.model, 16, 100);
  const auto gathering_of = [&](const char* preset) {
    return resolve_engine(preset, {}, d.model, test::h100(), d.parallel).gathering;
  };
  d.engine.gathering = gathering_of("vllm-0.19");
  EXPECT_DOUBLE_EQ(find(step_work(d, decodes), "expert_gather")->scale, buffer / 2);
  d.engine.gathering = gathering_of("trtllm-1.1");
  EXPECT_DOUBLE_EQ(find(step_work(d, prompts), "expert_gather")->scale, buffer);
  EXPECT_EQ(find(step_work(d, prompts), "expert_gather")->exchange, Exchange::all_gather);
  d.engine.gathering = gathering_of("sglang");
  const std::vector<Work> summed = step_work(d, prompts);
  const std::vector<Work> gathered = step_work(d, decodes);
  for (const char* name : {"expert_gather", "expert_scatter"}) {
    EXPECT_EQ(find(summed, name)->exchange, Exchange::all_reduce) << name;
    EXPECT_DOUBLE_EQ(find(summed, name)->scale, buffer) << name;
    EXPECT_EQ(find(summed, name)->calls, 58) << name;
    EXPECT_DOUBLE_EQ(find(gathered, name)->scale, buffer) << name;
  }
  EXPECT_EQ(find(gathered, "expert_gather")->exchange, Exchange::all_gather);
  EXPECT_EQ(find(gathered, "expert_scatter")->exchange, Exchange::reduce_scatter);
}

TEST(Operators, DeepEpSendsATokenOnceToEachOtherNode) {
  // 32 ranks on four nodes of eight, 8 of 256 experts: 4 (1 - (3/4)^8) = 3.5996 nodes, of which 3
  // of 4 are others, for 32 (1 - (31/32)^8) = 7.1776 ranks.
  Deployment d =
      deployment_of(test::deepseek_v3(), round_gpu(), {.data = 32, .expert_parallel = true});
  d.engine.all2all = All2All::deepep_high_throughput;
  const std::vector<Work> work = step_work(d, prefill_batch(1, 10));
  const Work* dispatch = find(work, "expert_dispatch");
  ASSERT_NE(dispatch, nullptr);
  ASSERT_TRUE(dispatch->experts.off_node);
  EXPECT_NEAR(*dispatch->experts.off_node, 3.5996 * 0.75 / 7.1776, 1e-4);
  EXPECT_EQ(dispatch->experts.copies_per_expert, 0);
  d.engine.all2all = All2All::deepep_low_latency;
  const std::vector<Work> fast = step_work(d, prefill_batch(1, 10));
  EXPECT_FALSE(find(fast, "expert_dispatch")->experts.off_node);
  EXPECT_NEAR(find(fast, "expert_dispatch")->experts.copies_per_expert, 8 / 7.1776, 1e-4);
}

TEST(Operators, TheLatentIsReadOnceForAllHeads) {
  // DeepSeek-V3: 576 elements of 2 bytes in 61 layers, on every TP rank.
  for (const int tensor : {1, 8}) {
    const Deployment d = deployment_of(test::deepseek_v3(), round_gpu(), {.tensor = tensor});
    const std::vector<Work> work = step_work(d, decode_batch(d.model, 2, 99));
    EXPECT_DOUBLE_EQ(find(work, "decode_attention")->stored_bytes.value, 2 * 100 * 576 * 2.0 * 61);
  }
}

TEST(Operators, LatentPrefillRunsOnFullKeysAndValues) {
  // 2 * 128 heads * (128 + 64 + 128) per pair, 61 layers.
  const Deployment d = deployment_of(test::deepseek_v3(), round_gpu());
  const std::vector<Work> work = step_work(d, prefill_batch(1, 100));
  EXPECT_DOUBLE_EQ(total_flops(work, OperatorFamily::prefill_attention),
                   2.0 * 128 * 320 * (100.0 * 101 / 2) * 61);
}

TEST(Operators, ALaterLatentChunkRebuildsTheEarlierKeys) {
  // 2 * 512 * 128 * (128 + 128) FLOPs for each of 50 earlier tokens, 61 layers.
  const Deployment d = deployment_of(test::deepseek_v3(), round_gpu());
  StepBatch batch;
  batch.prefills = {{.new_tokens = 10, .context_tokens = 50}};
  const double pairs = 10.0 * 50 + 55;
  EXPECT_DOUBLE_EQ(total_flops(step_work(d, batch), OperatorFamily::prefill_attention),
                   61 * (pairs * 2.0 * 128 * 320 + 50 * 2.0 * 512 * 128 * 256));
}

TEST(Operators, WindowsLimitWhatIsRead) {
  // Gemma-3-27B: 10 full layers and 52 of 1024; 2 * 16 * 128 * 2 = 8192 bytes a token and layer.
  const Deployment d = deployment_of(test::gemma_3_27b(), round_gpu());
  const std::vector<AttentionSpan> spans = attention_spans(d.model);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].kind, AttentionSpan::Kind::full);
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 1, 9999));
  EXPECT_DOUBLE_EQ(find(work, "decode_attention")->stored_bytes.value, 10000 * 8192.0 * 10);
  EXPECT_DOUBLE_EQ(find(work, "decode_attention_1024")->stored_bytes.value, 1024 * 8192.0 * 52);
}

TEST(Operators, AnIndexerScansTheWholeContext) {
  const Transformer model = test::deepseek_v3_2();
  const std::vector<AttentionSpan> spans = attention_spans(model);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].kind, AttentionSpan::Kind::full);
  EXPECT_EQ(spans[1].kind, AttentionSpan::Kind::sparse);
  const Deployment d = deployment_of(model, round_gpu());
  const auto bytes = [&](std::int64_t context) {
    double sum = 0;
    for (const Work& work : step_work(d, decode_batch(model, 1, context))) {
      if (work.family == OperatorFamily::decode_attention) sum += work.stored_bytes.value;
    }
    return sum;
  };
  // Past 2048 tokens only the indexer's keys grow: 128 + 4 bytes a token in 61 layers.
  EXPECT_NEAR(bytes(20000) - bytes(10000), 10000 * 132.0 * 61, 1.0);
}

TEST(Operators, RecurrentStateIsReadAndWritten) {
  // Nemotron-3-Nano, 23 Mamba-2 layers: convolution 18,432 elements of 2 bytes, state 524,288 of 4.
  const Deployment d = deployment_of(test::nemotron_3_nano(), round_gpu());
  const std::vector<Work> work = step_work(d, decode_batch(d.model, 3, 500));
  const double state = 18432 * 2.0 + 524288 * 4.0;
  EXPECT_DOUBLE_EQ(find(work, "state_update")->stored_bytes.value, 3 * 2 * state * 23);
}

TEST(Operators, PairsAgreeWithCountingThem) {
  using Kind = AttentionSpan::Kind;
  for (const AttentionSpan span :
       {AttentionSpan{}, AttentionSpan{Kind::sliding, 7}, AttentionSpan{Kind::chunked, 5},
        AttentionSpan{Kind::sparse, 9}}) {
    for (const std::int64_t context : {0, 3, 6, 20}) {
      for (const std::int64_t fresh : {1, 4, 13}) {
        std::int64_t pairs = 0;
        for (std::int64_t i = 0; i < fresh; ++i) pairs += attended_tokens(span, context + i);
        EXPECT_DOUBLE_EQ(attended_pairs(span, fresh, context), static_cast<double>(pairs));
      }
    }
  }
}

// 12 layers with 12 heads of 64: two inputs of 100 tokens have 2 x 100 x 100 pairs, of 2 x (64 +
// 64) FLOPs a head. Queries and outputs, keys and values are 2 x 12 x 64 elements each, in 16 bits.
TEST(Operators, AnEncodersTokensAttendToTheWholeInput) {
  Transformer model = test::gpt2_small();
  for (Layer& layer : model.layers) {
    std::get<Attention>(layer.mixer).span.kind = AttentionSpan::Kind::both;
  }
  const Deployment d = deployment_of(model, round_gpu());
  const std::vector<Work> work = step_work(d, prefill_batch(2, 100));
  const Work* attention = find(work, "prefill_attention");
  ASSERT_NE(attention, nullptr);
  EXPECT_DOUBLE_EQ(attention->flops.value, 12.0 * 2 * 100 * 100 * 12 * 256);
  EXPECT_DOUBLE_EQ(attention->bytes.value, 12.0 * 200 * (2 * 2 * 12 * 64) * 2);
  EXPECT_EQ(find(work, "kv_write"), nullptr);
}

TEST(Operators, EveryModelHasFiniteWorkOfEveryOperator) {
  for (const Transformer& model :
       {test::llama_3_1_70b(), test::qwen3_30b_a3b(), test::deepseek_v3_2(), test::gpt_oss_20b(),
        test::qwen3_next_80b(), test::nemotron_h_56b(), test::llama_4_scout(), test::gpt2_small(),
        test::minimax_text_01()}) {
    const Deployment d = deployment_of(model, round_gpu());
    StepBatch batch = decode_batch(model, 7, 3000);
    batch.prefills = {{.new_tokens = 500, .context_tokens = 100}};
    for (const Work& work : step_work(d, batch)) {
      EXPECT_GT(work.bytes.value, 0) << model.name << " " << work.name;
      EXPECT_GE(work.bytes.value, work.stored_bytes.value) << model.name << " " << work.name;
      EXPECT_GT(work.calls, 0) << model.name << " " << work.name;
      EXPECT_GE(work.scale, 1) << model.name << " " << work.name;
    }
  }
}

}  // namespace
}  // namespace roofcast

// Step times of a calibrated device: which source answers, and properties that must still hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "model/architecture/expert_load.hpp"
#include "model/step/scaled_step_time.hpp"
#include "model/step/step_estimate.hpp"
#include "tests/model/curves/measured_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using test::deployment_of;
using test::round_gpu;

constexpr double kRounding = 1e-12;

Deployment calibrated(const Transformer& model, Parallelism parallel = {}) {
  Deployment deployment = deployment_of(model, round_gpu(), parallel);
  deployment.gpu.l2_cache = Bytes{20e6};
  deployment.gpu.measured = test::measured_for(deployment);
  return deployment;
}

const OperatorEstimate& named(const StepEstimate& step, const std::string& name) {
  for (const OperatorEstimate& op : step.operators) {
    if (op.work.name == name) return op;
  }
  throw std::runtime_error("no operator " + name);
}

TEST(MeasuredStep, ATimedMatrixProductTakesItsTimeInEveryLayer) {
  // o_proj of Llama-3.1-8B, 4096 x 4096, at 64 tokens: its terms are 5 us + 2 * 64 * 2^24 FLOPs at
  // half of 100 TFLOP/s + (2^24 + 64 * 8192) * 2 bytes at half of 1 TB/s; 32 layers.
  const Deployment deployment = calibrated(test::llama_3_1_8b());
  const StepEstimate step =
      RooflineStepTime(deployment).explain(decode_batch(deployment.model, 64, 1000));
  const OperatorEstimate& o_proj = named(step, "o_proj");
  const double weights = 16777216;
  const double call = 5e-6 + 2 * 64 * weights * 2e-14 + (weights + 64 * 8192) * 2 * 2e-12;
  EXPECT_NEAR(o_proj.time.value, 32 * call, 1e-12);
  EXPECT_EQ(o_proj.provenance, Provenance::measured);
  EXPECT_NEAR(o_proj.relative_uncertainty, 0.02 / 1.2816, 1e-12);
  EXPECT_EQ(o_proj.bound, Bound::memory);
}

TEST(MeasuredStep, AttentionIsAskedBySequencesAndTheirMeanContext) {
  // Two sequences that attend to 3 and 4093 tokens: (2, 2048), between timed sizes.
  const Deployment deployment = calibrated(test::llama_3_1_8b());
  StepBatch batch;
  batch.decode_sequences = 2;
  batch.decode_attended = {4096};
  const OperatorEstimate attention =
      named(RooflineStepTime(deployment).explain(batch), "decode_attention");
  // 4096 entries of 2 * 8 * 128 * 2 bytes, queries and outputs of 2 * 32 * 256 * 2.
  const double bytes = 4096 * 4096.0 + 2 * 16384;
  const double flops = 4096.0 * 2 * 32 * 256;
  EXPECT_NEAR(attention.time.value, 32 * (5e-6 + flops * 2e-14 + bytes * 2e-12), 1e-10);
  EXPECT_EQ(attention.provenance, Provenance::interpolated);
  EXPECT_NEAR(attention.relative_uncertainty, 0.05 / 1.6449, 1e-12);
}

TEST(MeasuredStep, DecodingBesidePrefillIsAskedOfThePromptsKernel) {
  Deployment deployment = calibrated(test::llama_3_1_8b());
  const RooflineStepTime apart(deployment);
  auto& curves = deployment.gpu.measured->curves;
  const auto decode = std::find_if(curves.begin(), curves.end(), [](const MeasuredCurve& curve) {
    return curve.shape.family == OperatorFamily::decode_attention;
  });
  MeasuredCurve beside = *decode;
  beside.shape.beside_prefill = true;
  beside.empty_tile = Seconds{3e-9};
  for (MeasuredPoint& point : beside.points) point.time = point.time * 2.0;
  curves.push_back(beside);
  const RooflineStepTime together(deployment);

  StepBatch batch = decode_batch(deployment.model, 64, 1023);
  EXPECT_EQ(together.seconds(batch), apart.seconds(batch));
  const double alone = named(apart.explain(batch), "decode_attention").time.value;
  batch.prefills = {{.new_tokens = 384}, {.new_tokens = 100}};
  // Twice as long, and 384 queries are 3 tiles: 2 empty ones for each decode and 2 for the shorter
  // prompt, of 32 heads, in 32 layers.
  const double empty = (64 * 2 + 2) * 32 * 3e-9 * 32;
  EXPECT_NEAR(named(together.explain(batch), "decode_attention").time.value, 2 * alone + empty,
              1e-10);
  EXPECT_NEAR(named(apart.explain(batch), "decode_attention").time.value, alone, 1e-12);
}

TEST(MeasuredStep, TheLongestSequenceOutlastsTheOthers) {
  // 64 sequences of 1,000 tokens: 64,000 entries of 4,096 bytes and 64 queries and outputs of
  // 16,384 in 5 us + 1.05 GFLOP * 2e-14 + 263.2 MB * 2e-12 = 552.36 us. At 100 ns a token 11.587
  // times 8 blocks fill the memory, of 200 that 100 multiprocessors run at once, 3.125 a sequence:
  // those of 29.662 sequences. The first eight have 9,000 + 7 * 1,000, the other 56 by the mean
  // 48,000, the first 21.662 of them 1,000 - 1,000 / 7 * 21.662 / 56 = 944.74 each, so that the
  // 29.662 have 1,229.349. By the end 1,000 to 1,320 tokens have been read, which leaves
  // (7,770.651 * 229.349 + (7,770.651^2 - 7,680^2) / 2) / 320 = 7,757.811 tokens, in 32 layers.
  Deployment deployment = calibrated(test::llama_3_1_8b());
  for (MeasuredCurve& curve : deployment.gpu.measured->curves) curve.tail_token = Seconds{100e-9};
  const RooflineStepTime step_time(deployment);
  StepBatch batch = decode_batch(deployment.model, 64, 999);
  const Seconds even = step_time.seconds(batch);
  batch.decode_longest.front() = 9000;
  EXPECT_NEAR((step_time.seconds(batch) - even).value, 32 * 7757.811 * 100e-9, 1e-8);
}

TEST(MeasuredStep, AsksForTheLongestSequencesOnlyWhereTheyOutlastTheOthers) {
  Deployment deployment = calibrated(test::llama_3_1_8b());
  const RooflineStepTime without(deployment);
  EXPECT_FALSE(without.asks_for_longest());
  StepBatch batch = decode_batch(deployment.model, 64, 999);
  const Seconds even = without.seconds(batch);
  batch.decode_longest.front() = 9000;
  EXPECT_EQ(without.seconds(batch), even);
  for (MeasuredCurve& curve : deployment.gpu.measured->curves) curve.tail_token = Seconds{100e-9};
  const RooflineStepTime with(deployment);
  EXPECT_TRUE(with.asks_for_longest());
  EXPECT_TRUE(ScaledStepTime(with, 2.0).asks_for_longest());
  EXPECT_FALSE(ScaledStepTime(without, 2.0).asks_for_longest());
}

/// Launches in a decode step, and in its attention, whose times come from curves.
std::int64_t timed_launches(const StepEstimate& step) {
  std::int64_t launches = 0;
  for (const OperatorEstimate& op : step.operators) {
    if (op.provenance <= Provenance::extended) launches += op.work.calls;
  }
  return launches;
}

TEST(MeasuredStep, WhatWasTimedLaunchByLaunchIsShorterInACapturedGraph) {
  Deployment deployment = calibrated(test::llama_3_1_8b());
  deployment.engine.graph_batch_sizes = {512};
  const RooflineStepTime replayed(deployment);
  for (MeasuredCurve& curve : deployment.gpu.measured->curves) curve.graph_saving = Seconds{1e-7};
  const RooflineStepTime launched(deployment);
  const auto saved = [&](const StepBatch& batch) {
    return (replayed.seconds(batch) - launched.seconds(batch)).value;
  };
  const StepBatch decode = decode_batch(deployment.model, 64, 1023);
  const auto launches = static_cast<double>(timed_launches(launched.explain(decode)));
  EXPECT_NEAR(saved(decode), launches * 1e-7, kRounding);
  EXPECT_NEAR((named(replayed.explain(decode), "o_proj").time -
               named(launched.explain(decode), "o_proj").time)
                  .value,
              32 * 1e-7, kRounding);
  // Graphs of steps with prompts leave the 32 launches of attention out, and end at 512 tokens.
  StepBatch mixed = decode;
  mixed.prefills = {{.new_tokens = 448, .emits_token = false}};
  EXPECT_NEAR(saved(mixed), (launches - 32) * 1e-7, kRounding);
  mixed.prefills.front().new_tokens = 449;
  EXPECT_EQ(saved(mixed), 0);
}

TEST(MeasuredStep, AttentionThatWasTimedWithItsWritesHasNoOtherWrite) {
  Deployment deployment = calibrated(test::llama_3_1_8b());
  const RooflineStepTime apart(deployment);
  const StepBatch decode = decode_batch(deployment.model, 64, 1023);
  const Seconds write = named(apart.explain(decode), "kv_write").time;
  for (MeasuredCurve& curve : deployment.gpu.measured->curves) curve.writes_cache = true;
  const RooflineStepTime together(deployment);
  EXPECT_NEAR((apart.seconds(decode) - together.seconds(decode)).value, write.value, kRounding);
  EXPECT_THROW(named(together.explain(decode), "kv_write"), std::runtime_error);
}

TEST(MeasuredStep, ChunksOfOneStepPayTheFixedTimeOnce) {
  const Deployment deployment = calibrated(test::llama_3_1_8b());
  const RooflineStepTime step_time(deployment);
  const auto attention = [&](std::vector<PrefillChunk> chunks) {
    StepBatch batch;
    batch.prefills = std::move(chunks);
    return named(step_time.explain(batch), "prefill_attention").time.value;
  };
  const PrefillChunk a{.new_tokens = 256, .context_tokens = 1024};
  const PrefillChunk b{.new_tokens = 1024, .context_tokens = 0};
  EXPECT_NEAR(attention({a, b}), attention({a}) + attention({b}) - 32 * 5e-6, 1e-12);
}

TEST(MeasuredStep, ExpertsAreTimedAsAWholeBlock) {
  const Deployment deployment = calibrated(test::qwen3_30b_a3b());
  const StepEstimate step =
      RooflineStepTime(deployment).explain(decode_batch(deployment.model, 16, 100));
  const OperatorEstimate& experts = named(step, "experts");
  EXPECT_EQ(experts.work.calls, 96);  // two kernels in each of 48 layers
  const OperatorShape shape{.family = OperatorFamily::moe,
                            .format = "bf16",
                            .outputs = 768,
                            .inputs = 2048,
                            .experts = 128,
                            .experts_per_token = 8,
                            .gated = true};
  const MeasuredCurve* curve = find_curve(*deployment.gpu.measured, shape);
  ASSERT_NE(curve, nullptr);
  EXPECT_NEAR(experts.time.value, 48 * base_time(*curve, 16, 0, 100).value, 1e-12);
}

// Engines' tables spread 16 tokens over 16 x 8 = 128 experts, where tokens that pick for themselves
// hit 128 (1 - (15/16)^16) = 82.4, as 10.3 spread tokens do. One token hits 8 either way.
TEST(MeasuredStep, TokensThatPickForThemselvesHitFewerExpertsThanSpreadOnes) {
  const auto timed_by = [](const char* kernel, std::int64_t tokens) {
    Deployment deployment = calibrated(test::qwen3_30b_a3b());
    MeasuredCurve curve{.shape = {.family = OperatorFamily::moe,
                                  .format = "bf16",
                                  .outputs = 768,
                                  .inputs = 2048,
                                  .experts = 128,
                                  .experts_per_token = 8,
                                  .gated = true},
                        .kernel = kernel,
                        .terms = {.floor = Seconds{1e-6}}};
    for (double x = 1; x <= 16; x *= 2) {
      curve.points.push_back({.x = x, .time = Seconds{1e-4 * x}, .samples = 1});
    }
    deployment.gpu.measured->curves = {curve};
    const RooflineStepTime times(deployment);
    return named(times.explain(decode_batch(deployment.model, tokens, 100)), "experts").time.value /
           48;
  };
  EXPECT_NEAR(timed_by("triton, vLLM 0.24.0", 1), 100e-6, 1e-9);
  EXPECT_GT(timed_by("triton, vLLM 0.24.0", 16), 800e-6);
  EXPECT_LT(timed_by("triton, vLLM 0.24.0", 16), 1200e-6);
  EXPECT_NEAR(timed_by("moe_2stages, AITER", 16), 1600e-6, 1e-9);
}

// One token's 8 picks over 8 ranks of 16 experts: 1 each on average, 1 + 1.42 sqrt(15/16) = 2.38
// on the busiest rank, if hits are normal. 64 tokens hit 15.74 of 16, the busiest rank's all.
TEST(MeasuredStep, RanksWaitForTheOneThatMostExpertsAreHitOn) {
  const auto experts_of = [](Parallelism parallel, std::int64_t tokens) {
    Deployment deployment = calibrated(test::qwen3_30b_a3b(), parallel);
    MeasuredCurve curve{.shape = {.family = OperatorFamily::moe,
                                  .format = "bf16",
                                  .outputs = 768,
                                  .inputs = 2048,
                                  .experts = 128,
                                  .experts_per_token = 8,
                                  .gated = true,
                                  .expert_ranks = 8},
                        .kernel = "triton, vLLM 0.24.0",
                        .terms = {.floor = Seconds{1e-6}}};
    for (double x = 1; x <= 64; x += 0.125) {
      curve.points.push_back({.x = x, .time = Seconds{1e-4 * std::min(x, 16.0)}, .samples = 1});
    }
    deployment.gpu.measured->curves = {curve};
    const RooflineStepTime times(deployment);
    return named(times.explain(decode_batch(deployment.model, tokens, 100)), "experts").time.value /
           48;
  };
  const Parallelism ranks{.tensor = 8, .expert_parallel = true};
  const double busiest = 1 + 1.4236 * std::sqrt(15.0 / 16);
  EXPECT_NEAR(experts_of(ranks, 1), busiest * 1e-4, 0.01e-4 * busiest);
  EXPECT_NEAR(experts_of(ranks, 64), 16e-4, 1e-9);
}

TEST(MeasuredStep, AnExpertParallelRankIsTimedAsAMixtureOfItsOwnExperts) {
  // 8 ranks of 16 experts; 64 tokens on each of 8 data-parallel ranks pick 8: 4096 pairs, 512 a
  // rank, as 64 tokens that pick 8 of 16 make.
  const Deployment deployment =
      calibrated(test::qwen3_30b_a3b(), {.data = 8, .expert_parallel = true});
  const StepOperators operators = step_operators(deployment);
  for (const LinearOperator& op : operators.per_token) {
    if (op.shape.family != OperatorFamily::moe) continue;
    EXPECT_EQ(op.alone_shape.experts, 16);
    EXPECT_EQ(op.alone_shape.experts_per_token, 8);
    EXPECT_EQ(op.alone_shape.outputs, 768);
    EXPECT_EQ(64 * op.alone_each, 64);
  }
}

TEST(MeasuredStep, AnExpertParallelRankIsTimedAtTheTokensOfAllRanksFirst) {
  Deployment deployment = calibrated(test::qwen3_30b_a3b(), {.data = 8, .expert_parallel = true});
  const OperatorShape spread{.family = OperatorFamily::moe,
                             .format = "bf16",
                             .outputs = 768,
                             .inputs = 2048,
                             .experts = 128,
                             .experts_per_token = 8,
                             .gated = true,
                             .expert_ranks = 8};
  MeasuredCurve curve{.shape = spread, .kernel = "spread", .terms = {.floor = Seconds{1e-6}}};
  // 64 tokens on each of 8 ranks: 512 of the group.
  curve.points = {{.x = 512, .time = Seconds{777e-6}, .samples = 1}};
  deployment.gpu.measured->curves.push_back(curve);
  const RooflineStepTime times(deployment);
  const OperatorEstimate experts =
      named(times.explain(decode_batch(deployment.model, 64, 100)), "experts");
  EXPECT_NEAR(experts.time.value, 48 * 777e-6, 1e-9);
}

// Over 2, 4 and 8 ranks a call takes 1 us for each token of all ranks and a rank's share of 8 us
// for the token's pairs. DeepEP brings a rank its own pairs: 3 us of a call with one token and 8 us
// * 512 / 4, where every token on each rank takes 3 us * 512.
TEST(MeasuredStep, ARankThatGetsItsOwnPairsAloneDoesNotPassOverOthers) {
  Deployment deployment = calibrated(test::qwen3_30b_a3b(), {.data = 4, .expert_parallel = true});
  auto& curves = deployment.gpu.measured->curves;
  for (const int ranks : {2, 4, 8}) {
    MeasuredCurve curve{.shape = {.family = OperatorFamily::moe,
                                  .format = "bf16",
                                  .outputs = 768,
                                  .inputs = 2048,
                                  .experts = 128,
                                  .experts_per_token = 8,
                                  .gated = true,
                                  .expert_ranks = ranks},
                        .kernel = "spread",
                        .terms = {.floor = Seconds{1e-6}}};
    for (const double tokens : {1, 512, 2048}) {
      curve.points.push_back(
          {.x = tokens, .time = Seconds{tokens * (1e-6 + 8e-6 / ranks)}, .samples = 1});
    }
    curves.push_back(curve);
  }
  const auto experts_with = [&](All2All backend) {
    deployment.engine.all2all = backend;
    const RooflineStepTime times(deployment);
    return named(times.explain(decode_batch(deployment.model, 128, 100)), "experts").time.value /
           48;
  };
  EXPECT_NEAR(experts_with(All2All::allgather_reducescatter), 1536e-6, 1e-9);
  EXPECT_NEAR(experts_with(All2All::deepep_high_throughput), 1027e-6, 1e-9);
}

// One rank's experts alone, timed with even picks at 1 us a token, are asked for the busiest rank's
// pairs: 512 tokens on each of 8 ranks pick 8, as many a rank as 512 tokens alone, times its share.
TEST(MeasuredStep, TheBusiestRankIsCountedOnce) {
  Deployment deployment = calibrated(test::qwen3_30b_a3b(), {.data = 8, .expert_parallel = true});
  deployment.engine.expert_power_law = 1.2;
  MeasuredCurve curve{.shape = {.family = OperatorFamily::moe,
                                .format = "bf16",
                                .outputs = 768,
                                .inputs = 2048,
                                .experts = 16,
                                .experts_per_token = 8,
                                .gated = true},
                      .kernel = "alone",
                      .terms = {.floor = Seconds{1e-6}}};
  for (const double tokens : {256, 512, 1024, 2048}) {
    curve.points.push_back({.x = tokens, .time = Seconds{tokens * 1e-6}, .samples = 1});
  }
  auto& curves = deployment.gpu.measured->curves;
  std::erase_if(curves,
                [](const MeasuredCurve& one) { return one.shape.family == OperatorFamily::moe; });
  curves.push_back(curve);
  const auto& moe = std::get<MoeFfn>(deployment.model.layers.front().ffn);
  const double busiest = busiest_rank_load(moe, deployment.parallel, {.power_law = 1.2}, false);
  ASSERT_GT(busiest, 1.2);
  const OperatorEstimate experts = named(
      RooflineStepTime(deployment).explain(decode_batch(deployment.model, 512, 100)), "experts");
  EXPECT_NEAR(experts.time.value / (48 * 512 * 1e-6), busiest, 1e-2);
}

TEST(MeasuredStep, TensorParallelismAsksForTheShardedShapes) {
  const Deployment deployment = calibrated(test::llama_3_1_8b(), {.tensor = 4});
  OperatorShape shape{.family = OperatorFamily::gemm, .format = "bf16", .outputs = 4096};
  shape.inputs = 14336 / 4;
  EXPECT_NE(find_curve(*deployment.gpu.measured, shape), nullptr);  // down_proj
  shape = {.family = OperatorFamily::decode_attention,
           .query_heads = 8,
           .kv_heads = 2,
           .head_dim = 128,
           .value_dim = 128};
  EXPECT_NE(find_curve(*deployment.gpu.measured, shape), nullptr);
  shape = {.family = OperatorFamily::collective, .ranks = 4};
  EXPECT_NE(find_curve(*deployment.gpu.measured, shape), nullptr);
}

TEST(MeasuredStep, SamplingIsTimedWholeOverTheLogits) {
  Deployment deployment = calibrated(test::llama_3_1_8b());
  const StepEstimate step =
      RooflineStepTime(deployment).explain(decode_batch(deployment.model, 64, 1000));
  // 64 rows of 128,256 logits in bf16, once: 16.4 MB at half of 1 TB/s.
  EXPECT_NEAR(named(step, "sampling").time.value, 5e-6 + 64 * 128256 * 2 * 2e-12, 1e-9);
}

TEST(MeasuredStep, WhatWasNotTimedFallsToTheNextRung) {
  Deployment deployment = calibrated(test::llama_3_1_8b());
  auto& curves = deployment.gpu.measured->curves;
  std::erase_if(curves, [](const MeasuredCurve& curve) {
    return curve.shape.outputs == 4096 && curve.shape.inputs == 14336;  // down_proj
  });
  std::erase_if(curves, [](const MeasuredCurve& curve) {
    return curve.shape.family == OperatorFamily::decode_attention;
  });
  std::erase_if(curves, [](const MeasuredCurve& curve) { return curve.shape.name == "rope"; });
  const StepBatch batch = decode_batch(deployment.model, 64, 1000);
  StepEstimate step = RooflineStepTime(deployment).explain(batch);
  EXPECT_EQ(named(step, "mlp.down_proj").provenance, Provenance::extended);  // its neighbours
  EXPECT_EQ(named(step, "decode_attention").provenance, Provenance::datasheet);
  EXPECT_EQ(named(step, "rope").provenance, Provenance::datasheet);
  EXPECT_EQ(named(step, "norms").provenance, Provenance::interpolated);

  std::erase_if(curves, [](const MeasuredCurve& curve) {
    return curve.shape.family == OperatorFamily::gemm;
  });
  deployment.gpu.efficiencies.gemm["bf16"] = {.points = {{1, 0.5}}, .source = "a table"};
  step = RooflineStepTime(deployment).explain(batch);
  EXPECT_EQ(named(step, "mlp.down_proj").provenance, Provenance::fitted);
}

TEST(MeasuredStep, AnUntimedMatrixIsCloseToItsTermsWhenItsNeighboursFollowThem) {
  Deployment deployment = calibrated(test::llama_3_1_8b());
  const StepBatch batch = prefill_batch(1, 512);
  const double timed =
      named(RooflineStepTime(deployment).explain(batch), "mlp.down_proj").time.value;
  std::erase_if(deployment.gpu.measured->curves, [](const MeasuredCurve& curve) {
    return curve.shape.outputs == 4096 && curve.shape.inputs == 14336;
  });
  const OperatorEstimate generic =
      named(RooflineStepTime(deployment).explain(batch), "mlp.down_proj");
  EXPECT_NEAR(generic.time.value, timed, 1e-9 * timed);
}

TEST(MeasuredStep, NoAnswerIsFasterThanPhysics) {
  Deployment deployment = calibrated(test::llama_3_1_8b());
  for (MeasuredCurve& curve : deployment.gpu.measured->curves) {
    for (MeasuredPoint& point : curve.points) point.time = point.time / 50.0;
  }
  const RooflineStepTime step_time(deployment);
  for (const StepBatch& batch :
       {decode_batch(deployment.model, 1, 10), decode_batch(deployment.model, 300, 9000),
        prefill_batch(3, 5000)}) {
    for (const OperatorEstimate& op : step_time.explain(batch).operators) {
      EXPECT_GE(op.time, physical_limit(op.work, deployment.gpu)) << op.work.name;
    }
  }
}

TEST(MeasuredStep, SecondsAreTheTotalOfTheExplanationToTheBit) {
  for (const Transformer& model : {test::llama_3_1_8b(), test::mixtral_8x7b(), test::gemma_3_27b(),
                                   test::deepseek_v3(), test::nemotron_3_nano()}) {
    const Deployment deployment = calibrated(model);
    const RooflineStepTime step_time(deployment);
    StepBatch mixed = decode_batch(model, 12, 700);
    mixed.prefills = {{.new_tokens = 300}, {.new_tokens = 200, .context_tokens = 900}};
    for (const StepBatch& batch :
         {decode_batch(model, 1, 0), decode_batch(model, 37, 5000), prefill_batch(1, 2048), mixed,
          speculative_batch(model, 8, 500, 3)}) {
      const Seconds first = step_time.seconds(batch);
      EXPECT_EQ(first, step_time.explain(batch).total) << model.name;
      EXPECT_EQ(first, step_time.seconds(batch));
      EXPECT_EQ(first, RooflineStepTime(deployment).seconds(batch));
    }
  }
}

/// Times scattered by a factor of three in both directions, unlike any real device.
Deployment jumpy(const Transformer& model) {
  Deployment deployment = calibrated(model);
  std::mt19937 random(17);
  std::uniform_real_distribution<double> any(1.0, 9.0);
  for (MeasuredCurve& curve : deployment.gpu.measured->curves) {
    for (MeasuredPoint& point : curve.points) point.time = point.time * (any(random) / 3);
  }
  return deployment;
}

TEST(MeasuredStep, MoreTokensSequencesOrContextNeverTakeLessTime) {
  for (const Transformer& model :
       {test::llama_3_2_1b(), test::qwen3_30b_a3b(), test::gemma_3_27b()}) {
    const RooflineStepTime step_time(jumpy(model));
    const auto rises = [&](auto batch_of, std::int64_t last_size, std::int64_t step) {
      Seconds last;
      for (std::int64_t size = 1; size <= last_size; size += step) {
        const Seconds now = step_time.seconds(batch_of(size));
        ASSERT_GE(now.value, last.value * (1 - kRounding)) << model.name << " at " << size;
        last = now;
      }
    };
    rises([](std::int64_t n) { return prefill_batch(1, n); }, 3000, 1);
    rises([](std::int64_t n) { return prefill_batch(n, 700); }, 20, 1);
    rises([&](std::int64_t n) { return decode_batch(model, n, 1000); }, 600, 1);
    rises([&](std::int64_t n) { return decode_batch(model, 8, n); }, 100000, 97);
    rises(
        [&](std::int64_t n) {
          StepBatch batch;
          batch.prefills = {{.new_tokens = 512, .context_tokens = n}};
          return batch;
        },
        50000, 61);
  }
}

TEST(MeasuredStep, AMeasuredOperatorIsLessUncertainThanItsDatasheet) {
  Deployment deployment = calibrated(test::llama_3_1_8b());
  const StepBatch batch = decode_batch(deployment.model, 64, 2048);
  const double measured = RooflineStepTime(deployment).explain(batch).relative_uncertainty;
  deployment.gpu.measured.reset();
  EXPECT_LT(measured, RooflineStepTime(deployment).explain(batch).relative_uncertainty);
}

TEST(MeasuredStep, ACacheLeftInL2BeatsPhysics) {
  const Deployment deployment = calibrated(test::llama_3_1_8b());
  const OperatorShape shape{.family = OperatorFamily::decode_attention,
                            .query_heads = 32,
                            .kv_heads = 8,
                            .head_dim = 128,
                            .value_dim = 128};
  // 64 x 2048 entries of 4096 bytes over 1 TB/s: 537 us, less a tenth.
  const auto beats = [&](double seconds) {
    return beats_physics(shape, {.x = 64, .y = 2048, .time = Seconds{seconds}}, deployment.gpu);
  };
  EXPECT_TRUE(beats(450e-6));
  EXPECT_FALSE(beats(500e-6));
  EXPECT_FALSE(beats(600e-6));
  // Activations may stay in the 20 MB of L2.
  const OperatorShape norms{.family = OperatorFamily::memory_bound, .name = "norms"};
  EXPECT_FALSE(beats_physics(norms, {.x = 19e6, .time = Seconds{1e-6}}, deployment.gpu));
  EXPECT_TRUE(beats_physics(norms, {.x = 200e6, .time = Seconds{1e-6}}, deployment.gpu));
  // A collective needs a link to be judged by: 1 GB over 100 GB/s.
  const OperatorShape reduce{.family = OperatorFamily::collective, .ranks = 4};
  EXPECT_TRUE(beats_physics(reduce, {.x = 1e9, .time = Seconds{5e-3}}, deployment.gpu));
  Gpu alone = deployment.gpu;
  alone.peer.reset();
  EXPECT_FALSE(beats_physics(reduce, {.x = 1e9, .time = Seconds{5e-3}}, alone));
}

}  // namespace
}  // namespace roofcast

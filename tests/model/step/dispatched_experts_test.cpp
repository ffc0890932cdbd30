#include "model/step/dispatched_experts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "model/engines/engine.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/step/deployment_operators.hpp"
#include "model/step/operator_time.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

struct Timed {
  const char* gpu;
  int ranks;
  double tokens;  // of all ranks
  double ms;
};

OperatorShape experts_of_deepseek_v3(int ranks) {
  return {.family = OperatorFamily::moe,
          .format = "fp8_block",
          .outputs = 2048,
          .inputs = 7168,
          .experts = 256,
          .experts_per_token = 8,
          .gated = true,
          .expert_ranks = ranks};
}

double predicted_ms(const Timed& timed) {
  const Gpu gpu = load_gpu(timed.gpu).gpu;
  const auto experts =
      dispatched_experts(gpu, experts_of_deepseek_v3(timed.ranks), "sglang-0.5.14");
  return experts ? experts->at(timed.tokens).value_or(Seconds{}).value * 1e3 : 0;
}

// DeepSeek-V3's experts as SGLang 0.5.6.post2 runs them behind DeepEP, uniform picks, of which no
// profile's curves are made (aiconfigurator 095f58a, wideep_context_moe and wideep_generation_moe).
// Prompts of at least 64 tokens a rank and expert, where products and not launches decide.
TEST(DispatchedExperts, PromptsTakeWhatDeepEpsKernelsTake) {
  constexpr Timed kTimed[] = {
      {"h100", 16, 65536, 3.172},   {"h100", 16, 131072, 6.046}, {"h100", 16, 262144, 11.796},
      {"h100", 32, 65536, 2.037},   {"h100", 32, 131072, 3.711}, {"h100", 32, 262144, 7.153},
      {"h100", 32, 524288, 13.965}, {"h100", 64, 131072, 2.587}, {"h100", 64, 262144, 4.839},
      {"h100", 64, 524288, 9.348},  {"h200", 16, 65536, 2.719},  {"h200", 16, 131072, 5.350},
      {"h200", 16, 262144, 10.936}, {"h200", 32, 131072, 3.159}, {"h200", 32, 262144, 6.320},
      {"h200", 32, 524288, 12.560}};
  double sum = 0;
  for (const Timed& timed : kTimed) {
    const double ratio = predicted_ms(timed) / timed.ms;
    EXPECT_NEAR(std::log(ratio), 0, std::log(1.5))
        << timed.gpu << " x" << timed.ranks << ", " << timed.tokens << " tokens";
    sum += std::log(ratio);
  }
  EXPECT_NEAR(sum / std::size(kTimed), 0, std::log(1.25));
}

// 256 tokens that pick 8 of 256 hit all: a rank of 32 reads 8 experts of 3 x 7,168 x 2,048 bytes,
// which take 0.105 ms at an H100's 3.35 TB/s and 0.073 ms at an H200's 4.8 TB/s.
TEST(DispatchedExperts, DecodesTakeAtLeastWhatReadingTheirWeightsTakes) {
  EXPECT_GT(predicted_ms({"h100", 32, 256, 0}), 0.105);
  EXPECT_GT(predicted_ms({"h200", 32, 256, 0}), 0.073);
}

// 16,384 tokens pick 8 of 128 experts of 3 x 4,096 x 1,536 elements: over 8 ranks 0.62 TFLOP each,
// which take 0.63 ms at an H100's 989 TFLOP/s in 16 bits. Its kernels over two ranks were timed
// faster than over four.
TEST(DispatchedExperts, TakeAtLeastWhatTheirProductsTake) {
  const Gpu gpu = load_gpu("h100").gpu;
  const OperatorShape shape{.family = OperatorFamily::moe,
                            .format = "bf16",
                            .outputs = 1536,
                            .inputs = 4096,
                            .experts = 128,
                            .experts_per_token = 8,
                            .gated = true,
                            .expert_ranks = 8};
  const auto experts = dispatched_experts(gpu, shape, "sglang-0.5.14");
  ASSERT_TRUE(experts);
  const std::optional<Seconds> time = experts->at(16384);
  ASSERT_TRUE(time);
  EXPECT_GT(time->value, 0.63e-3);
}

// Over eight ranks of H100 the tables' times fall by 3 % between 181 and 362 tokens.
TEST(DispatchedExperts, MoreTokensTakeNoLess) {
  for (const char* gpu : {"h100", "h200"}) {
    for (const int ranks : {8, 32}) {
      double last = 0;
      for (double tokens = 1; tokens < 1e6; tokens *= 2) {
        const double ms = predicted_ms({gpu, ranks, tokens, 0});
        EXPECT_GE(ms, last) << gpu << " x" << ranks << ", " << tokens;
        last = ms;
      }
    }
  }
}

Deployment deployment_over_eight(const std::string& engine) {
  Gpu gpu = load_gpu("h100").gpu;
  const Parallelism parallel{.data = 8, .expert_parallel = true};
  Transformer model = test::deepseek_v3();
  Engine resolved = resolve_engine(engine, {.all2all_backend = All2All::deepep_high_throughput},
                                   model, gpu, parallel);
  return {.model = std::move(model),
          .gpu = std::move(gpu),
          .parallel = parallel,
          .engine = std::move(resolved)};
}

LinearOperator experts_of(const Deployment& deployment) {
  for (const LinearOperator& op : step_operators(deployment).per_token) {
    if (op.experts > 0) return op;
  }
  return {};
}

// TensorRT-LLM's kernels were timed with a rank's own pairs; those of the others with all.
TEST(DispatchedExperts, AreOfEnginesWhoseKernelsPassOverOtherPairs) {
  EXPECT_TRUE(experts_of(deployment_over_eight("sglang-0.5.14")).dispatched);
  EXPECT_TRUE(experts_of(deployment_over_eight("vllm-0.19")).dispatched);
  EXPECT_FALSE(experts_of(deployment_over_eight("trtllm-1.2")).dispatched);
}

// Where experts are picked by a power law the busiest rank has as many pairs as of so many more
// even tokens: 8 x 2,048 tokens times its share over the mean rank's, in each of 58 layers.
TEST(DispatchedExperts, TheBusiestRankOfAPowerLawHasItsShareOfPairs) {
  Deployment deployment = deployment_over_eight("sglang-0.5.14");
  deployment.engine.expert_power_law = 1.2;
  const LinearOperator op = experts_of(deployment);
  ASSERT_GT(op.busiest, 1);
  const TimedOperator timed(op, deployment.gpu, deployment.engine.version);
  const auto even = dispatched_experts(deployment.gpu, op.shape, deployment.engine.version);
  ASSERT_TRUE(even);
  const double busiest = even->at(8 * 2048 * op.busiest).value_or(Seconds{}).value;
  EXPECT_NEAR(timed.time(2048, deployment.gpu).value, 58 * busiest, 58 * busiest * 1e-3);
}

TEST(DispatchedExperts, NeedTwoNumbersOfRanks) {
  EXPECT_FALSE(dispatched_experts(load_gpu("l4").gpu, experts_of_deepseek_v3(32), "sglang-0.5.14"));
}

}  // namespace
}  // namespace roofcast

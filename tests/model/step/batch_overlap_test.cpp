// Steps computed in two halves that hide each other's exchange of experts' tokens (vLLM's DBO,
// SGLang's two-batch overlap).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/step_estimate.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

/// Mixtral on eight data-parallel ranks of one expert each, without host time.
Deployment on_ranks(All2All backend, const BatchOverlap& overlap = {}) {
  Deployment deployment = test::deployment_of(test::mixtral_8x7b(), test::round_gpu(),
                                              {.data = 8, .expert_parallel = true});
  deployment.engine.all2all = backend;
  deployment.engine.overlap = overlap;
  deployment.engine.graph_padding = false;
  deployment.engine.cuda_graphs = false;
  deployment.engine.host.kernel_launch = Seconds{};
  return deployment;
}

/// The exchanges of experts' tokens in a step without overlap, and all else.
struct TwoParts {
  double exchange = 0;
  double rest = 0;
  std::int64_t calls = 0;  // of both exchanges
};

TwoParts parts_of(const Deployment& deployment, const StepBatch& batch) {
  TwoParts parts;
  for (const OperatorEstimate& op : RooflineStepTime(deployment).explain(batch).operators) {
    const bool exchanges = op.work.name == "expert_dispatch" || op.work.name == "expert_combine";
    (exchanges ? parts.exchange : parts.rest) += op.time.value;
    if (exchanges) parts.calls += op.work.calls;
  }
  return parts;
}

// Two halves, of which at any time one computes while the other's tokens are on their way: twice
// the longer of the two, and the first and last turn of 32 layers, where there is nothing beside.
TEST(BatchOverlap, TheLongerOfComputingAndExchangingIsWhatAStepTakes) {
  for (const All2All backend : {All2All::deepep_low_latency, All2All::deepep_high_throughput}) {
    const Deployment plain = on_ranks(backend);
    const double share = backend == All2All::deepep_low_latency ? 1.0 : 0.8;  // 20 of 100 SMs
    const Deployment overlapped = on_ranks(
        backend,
        {.enabled = true, .decode_tokens = 32, .prefill_tokens = 512, .compute_share = share});
    for (const std::int64_t sequences : {64, 256, 1024}) {
      const TwoParts half = parts_of(plain, decode_batch(plain.model, sequences / 2, 999));
      ASSERT_EQ(half.calls, 64);
      const double rest = half.rest / share;
      const double expected =
          2 * std::max(rest, half.exchange) + std::min(rest, half.exchange) / 32;
      const double seconds =
          RooflineStepTime(overlapped).seconds(decode_batch(plain.model, sequences, 999)).value;
      EXPECT_NEAR(seconds, expected, 1e-9 * expected) << sequences;
    }
  }
}

// A prompt of 4,096 tokens attends to 4096 x 4097 / 2 pairs; its halves to as many together.
TEST(BatchOverlap, HalvesOfAPromptAttendToAllOfIt) {
  const Deployment plain = on_ranks(All2All::deepep_low_latency);
  const Deployment overlapped = on_ranks(
      All2All::deepep_low_latency, {.enabled = true, .decode_tokens = 32, .prefill_tokens = 512});
  StepBatch half = prefill_batch(1, 2048);
  half.prefills.front().context_tokens = 1024;
  EXPECT_NEAR(2 * attended_pairs({}, 2048, 1024), attended_pairs({}, 4096, 0), 4096);
  const TwoParts parts = parts_of(plain, half);
  EXPECT_NEAR(RooflineStepTime(overlapped).seconds(prefill_batch(1, 4096)).value,
              2 * std::max(parts.rest, parts.exchange) + std::min(parts.rest, parts.exchange) / 32,
              1e-9);
}

TEST(BatchOverlap, StepsBelowTheThresholdsStayWhole) {
  const Deployment plain = on_ranks(All2All::deepep_low_latency);
  const Deployment overlapped = on_ranks(
      All2All::deepep_low_latency, {.enabled = true, .decode_tokens = 32, .prefill_tokens = 512});
  const RooflineStepTime with(overlapped), without(plain);
  const auto differ = [&](const StepBatch& batch) {
    const double whole = without.seconds(batch).value;
    return std::abs(with.seconds(batch).value - whole) > 1e-12 * whole;
  };
  EXPECT_FALSE(differ(decode_batch(plain.model, 31, 100)));
  EXPECT_TRUE(differ(decode_batch(plain.model, 32, 100)));
  EXPECT_FALSE(differ(prefill_batch(1, 511)));
  EXPECT_TRUE(differ(prefill_batch(1, 512)));
}

// vLLM admits DeepEP's backends alone (config/vllm.py: "Microbatching currently only supports the
// deepep_low_latency and deepep_high_throughput all2all backend"). 20 of an H200's 132
// multiprocessors are taken by kernels of high throughput.
TEST(BatchOverlap, ComesWithDeepEpAlone) {
  const Transformer model = load_model("deepseek-v3");
  const Gpu gpu = load_gpu("h200").gpu;
  const Parallelism ranks{.data = 8, .expert_parallel = true};
  EngineOverrides given{.enable_dbo = true};
  EXPECT_THROW(resolve_engine("vllm-0.19", given, model, gpu, ranks), UsageError);
  EXPECT_THROW(resolve_engine("sglang", given, model, gpu, ranks), UsageError);
  given.all2all_backend = All2All::deepep_high_throughput;
  const Engine vllm = resolve_engine("vllm-0.19", given, model, gpu, ranks);
  EXPECT_TRUE(vllm.overlap.enabled);
  EXPECT_EQ(vllm.overlap.decode_tokens, 32);
  EXPECT_EQ(vllm.overlap.prefill_tokens, 512);
  EXPECT_DOUBLE_EQ(vllm.overlap.compute_share, 112.0 / 132);
  given.all2all_backend = All2All::deepep_low_latency;
  given.dbo_decode_token_threshold = 64;
  EXPECT_EQ(resolve_engine("vllm-0.19", given, model, gpu, ranks).overlap.decode_tokens, 64);
  EXPECT_DOUBLE_EQ(resolve_engine("vllm-0.19", given, model, gpu, ranks).overlap.compute_share, 1);
}

}  // namespace
}  // namespace roofcast

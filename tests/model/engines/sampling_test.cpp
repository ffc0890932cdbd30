#include "model/engines/sampling.hpp"

#include <gtest/gtest.h>

#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/step_estimate.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kContext = 500;

Deployment served(const std::string& model, const std::string& preset,
                  EngineOverrides overrides = {}, int tensor = 1) {
  overrides.max_model_len = 4096;
  Deployment deployment{.model = load_model(model),
                        .gpu = load_gpu("h100").gpu,
                        .parallel = {.tensor = tensor},
                        .engine = {}};
  deployment.engine = resolve_engine(preset, overrides, deployment.model, deployment.gpu, {});
  return deployment;
}

double decode_seconds(const Deployment& deployment, std::int64_t sequences) {
  return RooflineStepTime(deployment)
      .seconds(decode_batch(deployment.model, sequences, kContext))
      .value;
}

TEST(Sampling, NamesAreReadBack) {
  for (const SamplingKind kind :
       {SamplingKind::plain, SamplingKind::top_p, SamplingKind::penalty}) {
    EXPECT_EQ(parse_sampling(name_of(kind)), kind);
  }
  EXPECT_FALSE(parse_sampling("greedy"));
}

TEST(Sampling, ModelsAreSampledAsTheirPublishersAsk) {
  EXPECT_EQ(load_model("llama-3.1-70b").sampling, SamplingKind::top_p);
  EXPECT_EQ(load_model("qwen2.5-7b").sampling, SamplingKind::penalty);
  EXPECT_EQ(load_model("mistral-nemo-12b").sampling, SamplingKind::plain);
}

// 0.14 ns a logit up to 128 rows, 0.06 ns beyond: 100,000 logits are 14 us a row, then 6 us.
TEST(Sampling, RowsAreSortedApartUpTo128) {
  const SerialTime sort = sort_time(100'000);
  EXPECT_NEAR(sort.of(1).value, 14e-6, 1e-12);
  EXPECT_NEAR(sort.of(128).value, 128 * 14e-6, 1e-12);
  EXPECT_NEAR(sort.of(228).value, 128 * 14e-6 + 100 * 6e-6, 1e-12);
}

// Llama-3.1-70B has 128,256 logits: 17.956 us per row. Sorting also adds one pass over the logits
// and the fixed time of a kernel: under 10 us at 32 rows.
TEST(Sampling, TopPSortsTheLogitsUpToVllm16) {
  const auto seconds = [&](const char* preset, SamplingKind sampling) {
    return decode_seconds(served("llama-3.1-70b", preset, {.sampling = sampling}, 4), 32);
  };
  const double sorted =
      seconds("vllm-0.15", SamplingKind::top_p) - seconds("vllm-0.15", SamplingKind::plain);
  EXPECT_GE(sorted, 32 * 17.95e-6);
  EXPECT_LE(sorted, 32 * 17.96e-6 + 10e-6);
  EXPECT_EQ(seconds("vllm-0.19", SamplingKind::top_p), seconds("vllm-0.19", SamplingKind::plain));
}

// Host time of a step with 10 sequences: 0.25 + 0.05 ms, and 10 * (1.0 + 1.1) us = 0.321 ms; and
// 22 ns for each of the 10 * (500 + 1) tokens attended = 0.11022 ms.
TEST(Sampling, PenaltiesKeepTheHostFromWorkingAhead) {
  const double hidden =
      decode_seconds(served("qwen2.5-7b", "vllm-0.19", {.sampling = SamplingKind::top_p}), 10);
  const double exposed =
      decode_seconds(served("qwen2.5-7b", "vllm-0.19", {.sampling = SamplingKind::penalty}), 10);
  EXPECT_NEAR(exposed - hidden, 0.321e-3 + 0.11022e-3, 1e-9);
}

// 80 layers with two all-reduces each, and one behind the embedding.
TEST(RankSkew, IsPaidAtEveryCollective) {
  Deployment deployment = served("llama-3.1-70b", "vllm-0.19", {}, 4);
  const double skewed = decode_seconds(deployment, 8);
  deployment.engine.host.rank_skew = Seconds{};
  EXPECT_NEAR(skewed - decode_seconds(deployment, 8), 161 * 1.6e-6, 1e-9);
  const Deployment alone = served("llama-3.1-8b", "vllm-0.19");
  Deployment still = alone;
  still.engine.host.rank_skew = Seconds{};
  EXPECT_EQ(decode_seconds(alone, 8), decode_seconds(still, 8));
}

}  // namespace
}  // namespace roofcast

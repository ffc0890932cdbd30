#include "tests/model/memory/memory_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace roofcast {
namespace {

const MemoryConstants kTruth{
    .logits_bytes = 15.0, .keeps_expert_workspace = true, .compile_peak = Bytes{0.75 * kGiB}};

/// A log that follows kTruth exactly.
StartUpLog log_of(double logits, double hidden, double intermediate, Bytes workspace = {}) {
  StartUpLog log;
  log.shape = {.logits = logits,
               .hidden = hidden,
               .intermediate = intermediate,
               .expert_workspace = workspace};
  log.activation = std::max(
      {sampler_peak(log.shape, kTruth), forward_peak(log.shape, kTruth), kTruth.compile_peak});
  return log;
}

/// Two logs whose peak is the sampler's (one with experts), one whose peak is the forward pass's,
/// one with neither.
std::vector<StartUpLog> logs() {
  return {log_of(1.3e8, 3e7, 1e8), log_of(2.0e8, 2e7, 0, Bytes{5e8}), log_of(1e7, 3e7, 9e8),
          log_of(1e7, 1e7, 2e7)};
}

TEST(MemoryFit, FindsTheSamplersBytesFromANearbyGuess) {
  MemoryConstants guess = kTruth;
  guess.logits_bytes = 12.0;
  const auto fitted = fit_logits_bytes(logs(), guess);
  ASSERT_TRUE(fitted);
  EXPECT_NEAR(*fitted, 15.0, 1e-9);
}

TEST(MemoryFit, LeavesImagesOutOfTheSamplersFit) {
  StartUpLog vision = log_of(1.3e8, 3e7, 1e8);
  vision.shape.encoder_outputs = Bytes{1e8};
  EXPECT_FALSE(fit_logits_bytes(std::vector<StartUpLog>{vision}, kTruth));
}

TEST(MemoryFit, FindsTheCompileScratchInWhatNeitherPassExplains) {
  const auto fitted = fit_compile_peak(logs(), kTruth);
  ASSERT_TRUE(fitted);
  EXPECT_NEAR(fitted->value, 0.75 * kGiB, 1.0);
}

TEST(MemoryFit, FindsTheForwardPassFromLongPrompts) {
  const std::vector<StartUpLog> forward = {log_of(0, 3e7, 9e8), log_of(0, 8e7, 5e8)};
  const ForwardFit fitted = fit_forward(forward);
  EXPECT_NEAR(fitted.intermediate, 3.0, 1e-9);
  EXPECT_NEAR(fitted.hidden, 4.0, 1e-9);
}

TEST(MemoryFit, AveragesNonTorchMemoryOfOneAndOfSeveralGpusApart) {
  std::vector<StartUpLog> starts(4);
  starts[0].non_torch = Bytes{2e8};
  starts[1].non_torch = Bytes{4e8};
  starts[2].non_torch = Bytes{2e9};
  starts[2].several_gpus = true;
  EXPECT_DOUBLE_EQ(fit_non_torch(starts, false)->value, 3e8);
  EXPECT_DOUBLE_EQ(fit_non_torch(starts, true)->value, 2e9);
  EXPECT_FALSE(fit_non_torch(std::vector<StartUpLog>(1), false));
}

TEST(MemoryFit, SplitsGraphsIntoAFixedPartAndAPartPerLayer) {
  // 1e8 + 2e7 per layer
  std::vector<StartUpLog> starts(2);
  starts[0].graphs = Bytes{1e8 + 16 * 2e7};
  starts[0].stage_layers = 16;
  starts[1].graphs = Bytes{1e8 + 80 * 2e7};
  starts[1].stage_layers = 80;
  const GraphFit fitted = fit_graphs(starts);
  EXPECT_NEAR(fitted.base.value, 1e8, 1.0);
  EXPECT_NEAR(fitted.per_layer.value, 2e7, 1.0);
}

}  // namespace
}  // namespace roofcast

#include "planner/scenario/step_census.hpp"

#include <gtest/gtest.h>

#include <random>

#include "model/step/step_summary.hpp"
#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast::test {
namespace {

/// A decode batch of 1 to 40 sequences, in one step of `every` beside a prompt of 16 to 2,000
/// tokens.
StepBatch drawn_batch(std::mt19937& random, std::size_t spans, int every) {
  std::uniform_int_distribution<std::int64_t> sequences(1, 40), context(100, 3000),
      prompt(16, 2000);
  StepBatch batch{.decode_sequences = sequences(random)};
  batch.decode_attended.assign(spans, batch.decode_sequences * context(random));
  if (std::uniform_int_distribution(1, every)(random) == 1) {
    batch.prefills.push_back({.new_tokens = prompt(random)});
  }
  return batch;
}

// Prompts are few and hold most of the FLOPs: a sample of all steps would meet one or two of them.
// The truth is the sum over all steps.
TEST(StepUse, IsThatOfAllStepsWhereFewComputePrompts) {
  const Deployment deployment =
      resolve({.model = "llama-3.1-8b", .gpu = "h100", .engine = "vllm"}).deployment;
  const RooflineStepTime step_time(deployment);
  const CountedSteps counted(step_time, deployment.engine);
  std::mt19937 random(7);
  Seconds compute{}, memory{}, time{};
  for (int i = 0; i < 3000; ++i) {
    const StepBatch batch = drawn_batch(random, step_time.spans().size(), 30);
    time += counted.seconds(batch);
    const StepSummary summary = summary_of(step_time.explain(batch), deployment.gpu);
    compute += summary.needed_compute;
    memory += summary.needed_memory;
  }
  const StepUse use = use_of(counted, step_time, deployment.gpu);
  // FLOPs per token differ by attention alone, a tenth of them; bytes per step by the KV cache, a
  // third. Means of 32 and more steps of each kind are within a fifth of that.
  EXPECT_NEAR(use.mfu / (compute / time), 1, 0.02);
  EXPECT_NEAR(use.mbu / (memory / time), 1, 0.06);
  EXPECT_NEAR(use.steps.total / time, 1, 1e-9);
}

TEST(StepUse, OfNoStepIsNone) {
  const Deployment deployment =
      resolve({.model = "llama-3.1-8b", .gpu = "h100", .engine = "vllm"}).deployment;
  const RooflineStepTime step_time(deployment);
  const CountedSteps counted(step_time, deployment.engine);
  const StepUse use = use_of(counted, step_time, deployment.gpu);
  EXPECT_EQ(use.mfu, 0);
  EXPECT_EQ(use.mbu, 0);
}

}  // namespace
}  // namespace roofcast::test

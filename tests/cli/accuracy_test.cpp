// Predictions beside runs that others measured, whose figures tests/accuracy holds with their
// sources: errors stay below what is aimed at, or, where that is missed, do not grow.
#include <gtest/gtest.h>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

/// `roofcast validate` on a manifest of tests/accuracy; exit 3: a mean error is past its limit.
CommandResult validated(const std::string& manifest, const std::string& limits) {
  return run_command("validate " ROOFCAST_SOURCE_DIR "/tests/accuracy/" + manifest +
                     " --ledger --threshold " + limits);
}

// Mean absolute errors over eleven runs of vLLM 0.15.1 on H100. TTFT is aimed at 8 % and misses it
// (8.8 %): nearly half of its error is one run whose prompts seem to have missed the prefix cache.
TEST(Accuracy, OpenLoopOfVllmOnH100) {
  const CommandResult result = validated("vllm_h100_open_loop.json", "e2e_s=4% ttft_s=9% itl_s=5%");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

// Requests per second with 440 outstanding.
TEST(Accuracy, SaturatedVllmOnH100) {
  const CommandResult result = validated("vllm_kubecon.json", "request_rate_per_s=5%");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

// Decode and mixed steps of Llama-2-70B on four H100, vLLM 0.15.1, 40 to 136 sequences.
TEST(Accuracy, StepsOfVllmOnH100) {
  const CommandResult result = validated("vllm_h100_steps.json", "step_s=6%");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace roofcast::test

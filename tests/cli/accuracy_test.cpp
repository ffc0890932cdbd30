// Predictions against runs measured by others, whose figures are in tests/accuracy with their
// sources: errors stay below the target, or, where that is missed, do not grow.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/run_command.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

/// `roofcast validate` on a manifest of tests/accuracy; exit code 3 if a mean error exceeds its
/// limit.
CommandResult validated(const std::string& manifest, const std::string& limits) {
  return run_command("validate " ROOFCAST_SOURCE_DIR "/tests/accuracy/" + manifest +
                     " --ledger --threshold " + limits);
}

// Mean absolute errors over eleven runs of vLLM 0.15.1 on H100, against limits wider than the goals
// (docs/accuracy.md).
TEST(Accuracy, OpenLoopOfVllmOnH100) {
  if (kSanitised) GTEST_SKIP() << "eleven runs of minutes";
  const CommandResult result = validated("vllm_h100_open_loop.json", "e2e_s=4% ttft_s=8% itl_s=5%");
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

/// Exit code of the script that makes the table of tests/accuracy if the program only prints
/// `answer`; writes into the current folder.
int exit_code_of_table(const std::string& manifest, const std::string& answer) {
  std::ofstream("program") << "#!/bin/sh\n" << answer << "\n";
  std::filesystem::permissions("program", std::filesystem::perms::owner_all);
  const std::string command = "python3 " ROOFCAST_SOURCE_DIR
                              "/tests/accuracy/servers --roofcast ./program " +
                              manifest + " > table.txt 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Accuracy, TheTableFailsWhereTheProgramDoesNotAnswer) {
  const TemporaryFolder folder;
  const std::string typed_in = ROOFCAST_SOURCE_DIR "/tests/accuracy/vllm_kubecon.json";
  const auto answer = [](int unanswered) {
    return R"(echo '{"answered": 1, "unanswered": )" + std::to_string(unanswered) +
           R"(, "cases": [{"group": "", "figures": [{"name": "request_rate_per_s", "statistic": "value", )" +
           R"("covered": true, "relative_error": 0.04}]}]}')";
  };
  constexpr int kNoSuchCommand = 127;
  const int all = exit_code_of_table(typed_in, answer(0));  // its goal is 5 %
  if (all == kNoSuchCommand) GTEST_SKIP() << "needs python3";
  EXPECT_EQ(all, 0);
  EXPECT_EQ(exit_code_of_table(typed_in, answer(1)), 1);
  EXPECT_EQ(exit_code_of_table(typed_in, "kill -11 $$"), 1);
  std::ofstream("absent.json") << R"({"cases": [{"rows": {"file": "not-there.csv"}}]})";
  EXPECT_EQ(exit_code_of_table("absent.json", "exit 1"), 0);
}

}  // namespace
}  // namespace roofcast::test

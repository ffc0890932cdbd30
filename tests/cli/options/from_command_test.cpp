// --from-cmd gives the same answers as the equivalent flags.
#include "cli/options/from_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

TEST(FromCommand, AnswersAsTheFlagsDo) {
  const CommandResult flags = run_command(
      "memory --gpu h100 --model llama-3.1-8b --engine vllm-0.19.1 --tp 2 --max-model-len 8192 "
      "--kv-cache-dtype fp8 -o json");
  const CommandResult line = run_command(
      "memory --gpu h100 -o json --from-cmd 'docker run --gpus all vllm/vllm-openai:v0.19.1 "
      "--model meta-llama/Llama-3.1-8B-Instruct -tp 2 --max-model-len 8K --kv-cache-dtype fp8 "
      "--port 1 --attention-backend x --new-flag'");
  EXPECT_EQ(line.exit_code, 0);
  EXPECT_EQ(line.out, flags.out);
  EXPECT_THAT(line.err, HasSubstr("ignored, no effect on performance: --port\n"));
  EXPECT_THAT(line.err,
              HasSubstr("may affect performance but is not modelled: --attention-backend\n"));
  EXPECT_THAT(line.err, HasSubstr("unknown flags, ignored: --new-flag\n"));
}

TEST(FromCommand, FlagsBesidesWin) {
  const std::string line = " --from-cmd 'vllm serve meta-llama/Llama-3.1-8B -tp 4 -q fp8'";
  EXPECT_EQ(
      run_command("estimate --gpu h100 -o json --model llama-3.2-1b --tp 2 --dtype bf16" + line)
          .out,
      run_command("estimate --gpu h100 -o json --model llama-3.2-1b --tp 2 --dtype bf16").out);
}

TEST(FromCommand, AScriptIsReadWithTheFilesBesideIt) {
  const TemporaryFolder folder;
  std::filesystem::create_directory("serving");
  std::ofstream("serving/c.yaml") << "kv_cache_config:\n  free_gpu_memory_fraction: 0.5\n";
  std::ofstream("serving/run.sh") << "trtllm-serve meta-llama/Llama-3.1-8B --config c.yaml\n";
  EXPECT_EQ(run_command("memory --gpu h100 -o json --from-cmd @serving/run.sh").out,
            run_command("memory --gpu h100 -o json --model llama-3.1-8b --engine trtllm "
                        "--gpu-memory-utilization 0.5")
                .out);
  const CommandResult unmarked = run_command("memory --gpu h100 --from-cmd serving/run.sh");
  EXPECT_EQ(unmarked.exit_code, 2);
  EXPECT_THAT(unmarked.err, HasSubstr("--from-cmd @serving/run.sh"));
}

TEST(FromCommand, SecretsOfTheLineAreNotKept) {
  EXPECT_EQ(without_secrets("HF_TOKEN=hf_x vllm serve m --api-key sk-1 --port 1"),
            "HF_TOKEN=*** vllm serve m --api-key *** --port 1");
  EXPECT_EQ(without_secrets("--from-cmd=docker run -e \"MY_API_KEY=k\" i --hf_token=t"),
            "--from-cmd=docker run -e \"MY_API_KEY=***\" i --hf_token=***");
  EXPECT_EQ(without_secrets("vllm serve m --api-key"), "vllm serve m --api-key");
  const TemporaryFolder folder;
  run_command(
      "simulate --gpu h100 --num-prompts 1 --from-cmd "
      "'vllm serve meta-llama/Llama-3.2-1B --api-key sk-secret'");
  const CommandResult run = run_command("runs 1 -o json");
  EXPECT_THAT(run.out, HasSubstr("--api-key ***"));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("sk-secret")));
}

TEST(FromCommand, IsTheBaselineOfAWhatIf) {
  const TemporaryFolder folder;
  const std::string load = "whatif --gpu h100 --num-prompts 20 --vary tp=1 --no-store -o csv ";
  const CommandResult served =
      run_command(load + "--from-cmd 'vllm serve meta-llama/Llama-3.1-8B -tp 2 -q fp8'");
  EXPECT_EQ(served.exit_code, 0) << served.err;
  EXPECT_EQ(served.out, run_command(load + "--model llama-3.1-8b -tp 2 -q fp8").out);
}

TEST(FromCommand, DraftsNeedTheirAcceptanceToBeSimulated) {
  const TemporaryFolder folder;
  const std::string line =
      " --gpu h100 --from-cmd 'vllm serve meta-llama/Llama-3.2-1B "
      "--speculative-config.num_speculative_tokens 3 --speculative-config.method ngram'";
  const CommandResult without = run_command("simulate --num-prompts 1 --no-store" + line);
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("--acceptance-rate"));
  EXPECT_EQ(
      run_command("simulate --num-prompts 1 --no-store --acceptance-rate 0.5" + line).exit_code, 0);
  EXPECT_THAT(run_command("estimate" + line).err,
              HasSubstr("speculative decoding is not modelled here"));
}

// Memory needs no acceptance: the head of Llama-3.2-1B is one of its layers, 16 of which take 0.97
// B parameters.
TEST(FromCommand, DraftsAreCountedInMemory) {
  const CommandResult run = run_command(
      "memory --gpu h100 --from-cmd 'vllm serve meta-llama/Llama-3.2-1B "
      "--speculative-config.num_speculative_tokens 3 --speculative-config.method eagle'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("weights.draft"));
}

}  // namespace
}  // namespace roofcast::test

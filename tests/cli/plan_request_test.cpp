// What `roofcast plan` lets people ask, and the one line it answers with where they slip.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

const std::string kLoad =
    "plan --model llama-3.1-8b --request-rate 5 --num-prompts 20 --output-len 16 "
    "--slo p95:ttft:500ms p95:tpot:40ms --max-replicas 2 --top 1 --no-store ";

CommandResult plan(const std::string& more) { return run_command(kLoad + more); }

void expect_misuse(const std::string& more, const std::string& text) {
  const CommandResult result = plan(more);
  EXPECT_EQ(result.exit_code, 2) << more;
  EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
}

TEST(PlanRequest, AProfileGivenByItsPathTakesAPriceByThatPath) {
  const TemporaryFolder folder;
  // It states no price.
  std::filesystem::copy_file(ROOFCAST_SOURCE_DIR "/hardware_profiles/amd-mi325x.json", "my.json");
  expect_misuse("--gpu ./my.json --search tp=1", "--price ./my.json=2.5");
  expect_misuse("--gpu ./my.json --search tp=1 --price h100=2", "(./my.json)");
  const CommandResult priced =
      plan("--gpu ./my.json --search tp=1 --price ./my.json=2.5 --available ./my.json=1");
  EXPECT_EQ(priced.exit_code, 0) << priced.err;
  EXPECT_NE(priced.out.find("$2.50 per hour"), std::string::npos) << priced.out;
}

}  // namespace
}  // namespace roofcast::test

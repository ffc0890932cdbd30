// Whole programs under mpirun, all on this machine.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/planner/search/run_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

using test::ProcessResult;
using test::run_process;

// One thread per rank, no store, 2 ms per evaluation.
const std::string kProgram = std::string(ROOFCAST_SYNTHETIC_PLAN) + " 1 '' 2";

/// Allows root, the user in many containers; keeps messages in shared memory; ignores leaks of
/// OpenMPI itself.
std::string under_mpirun(int ranks) {
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "
         "timeout 60 " ROOFCAST_MPIRUN
         " --oversubscribe --mca btl self,vader "
         "--mca btl_vader_single_copy_mechanism none -n " +
         std::to_string(ranks) + " " + kProgram;
}

class RanksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ROOFCAST_HAS_MPI) GTEST_SKIP() << "built without MPI";
    if (!std::filesystem::exists(ROOFCAST_MPIRUN)) GTEST_SKIP() << "no mpirun on this machine";
  }

  void expect_as_one_does(int ranks) const {
    const std::string said = folder_.path() + "/said";
    const ProcessResult together = run_process(under_mpirun(ranks) + " 2>" + said);
    const ProcessResult alone = run_process(kProgram + " 2>/dev/null");
    const std::string who = run_process("cat " + said).output;
    EXPECT_EQ(together.status, 0) << who;
    EXPECT_EQ(together.output, alone.output);
    EXPECT_FALSE(alone.output.empty());
    EXPECT_NE(who.find("by other ranks"), std::string::npos) << who;
    EXPECT_EQ(who.find(" 0 by other ranks"), std::string::npos) << "one rank did all";
  }

  test::TemporaryFolder folder_;
};

TEST_F(RanksTest, TwoAnswerAsOneDoes) { expect_as_one_does(2); }

TEST_F(RanksTest, FourAnswerAsOneDoes) { expect_as_one_does(4); }

}  // namespace
}  // namespace roofcast

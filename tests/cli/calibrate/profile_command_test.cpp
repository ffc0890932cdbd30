#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/run_command.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;
using testing::Not;

class ProfileCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// A table of one product at four sizes; the third row has no time.
  void write_table(const std::string& device) {
    std::ofstream(path("gemm.csv"))
        << "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
        << "VLLM,0.24.0," << device << ",gemm,cublas,bfloat16,1,4096,4096,0.010\n"
        << "VLLM,0.24.0," << device << ",gemm,cublas,bfloat16,16,4096,4096,0.011\n"
        << "VLLM,0.24.0," << device << ",gemm,cublas,bfloat16,64,4096,4096,0\n"
        << "VLLM,0.24.0," << device << ",gemm,cublas,bfloat16,256,4096,4096,0.020\n";
  }

  test::TemporaryFolder folder_;
};

TEST_F(ProfileCommand, ImportedTableAnswersAsTheGpu) {
  write_table("NVIDIA H200");
  const std::string out = path("mine.json");
  const auto imported =
      test::run_command("profile import " + folder_.path().string() + " --gpu h200 --out " + out);
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.out,
              HasSubstr("4 rows: 1 rejected, 0 not usable here; 3 points in 1 curve\n"));
  EXPECT_THAT(imported.out, HasSubstr("gemm.csv line 4"));
  const auto shown = test::run_command("gpus " + out);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("cublas, vLLM 0.24.0"));
}

TEST_F(ProfileCommand, AFolderIsReadButForTheTableThatIsUnknown) {
  write_table("NVIDIA H200");
  std::ofstream(path("other.csv")) << "when,what\n1,2\n";
  const std::string out = path("mine.json");
  const auto imported =
      test::run_command("profile import " + folder_.path().string() + " --gpu h200 --out " + out);
  EXPECT_EQ(imported.exit_code, 0);
  EXPECT_THAT(imported.err, HasSubstr("passed over"));
  EXPECT_THAT(imported.err, HasSubstr("other.csv"));
  EXPECT_THAT(imported.out, HasSubstr("3 points in 1 curve\n"));
  // Named itself, it is an error.
  const auto named =
      test::run_command("profile import " + path("other.csv") + " --gpu h200 --out " + out);
  EXPECT_EQ(named.exit_code, 1);
}

TEST_F(ProfileCommand, TablesOfAnotherGpuAreRefused) {
  write_table("NVIDIA L40S");
  const auto imported = test::run_command("profile import " + path("gemm.csv") +
                                          " --gpu h200 --out " + path("mine.json"));
  EXPECT_EQ(imported.exit_code, 1);
  EXPECT_THAT(imported.err, HasSubstr("NVIDIA L40S"));
  EXPECT_FALSE(std::filesystem::exists(path("mine.json")));
}

TEST_F(ProfileCommand, WhatIsMissingOrInTheWayIsSaid) {
  write_table("NVIDIA H200");
  EXPECT_EQ(test::run_command("profile").exit_code, 2);
  EXPECT_EQ(test::run_command("profile export x --gpu h200").exit_code, 2);
  EXPECT_EQ(test::run_command("profile import --gpu h200").exit_code, 2);
  EXPECT_EQ(test::run_command("profile import " + path("none.csv") + " --gpu h200").exit_code, 1);
  EXPECT_EQ(
      test::run_command("profile import " + path("gemm.csv") + " --gpu h200 --out h200").exit_code,
      2);
  // The output must not be one of the tables.
  std::filesystem::rename(path("gemm.csv"), path("gemm.json"));
  EXPECT_EQ(test::run_command("profile import " + path("gemm.json") + " --gpu h200 --out " +
                              path("gemm.json"))
                .exit_code,
            2);
}

}  // namespace
}  // namespace roofcast

#include "model/curves/curve_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/curves/measured_curve.hpp"

namespace roofcast {
namespace {

using testing::ElementsAre;

Measured timed(const std::vector<std::string>& kernels) {
  Measured measured;
  for (const std::string& kernel : kernels) {
    measured.curves.push_back({.kernel = kernel, .points = {{.x = 1, .time = Seconds{1e-6}}}});
  }
  return measured;
}

/// The kernel with which the shape of these curves is timed.
std::string kernel_of(const Measured& measured, const std::string& engine) {
  return find_curve(measured, OperatorShape{}, engine)->kernel;
}

TEST(CurveSource, IsTheLastPartOfAKernelsName) {
  EXPECT_EQ(source_of("fa3, vLLM 0.24.0"), "vLLM 0.24.0");
  EXPECT_EQ(source_of("fa3, vLLM 0.24.0 or flashinfer, vLLM 0.24.0"), "vLLM 0.24.0");
  EXPECT_EQ(source_of("cuBLASLt 13.1"), "cuBLASLt 13.1");
}

TEST(CurveSource, AnEngineIsTimedWithItsOwnKernelsInTheNearestVersion) {
  Measured measured =
      timed({"a, vLLM 0.14.0", "b, vLLM 0.24.0", "c, vLLM 0.24.0", "d, SGLang 0.5.14"});
  measured.curves[2].points[0].time = Seconds{0.5e-6};  // the faster of 0.24's
  measured.curves[3].points[0].time = Seconds{0.1e-6};  // the fastest of all
  EXPECT_EQ(kernel_of(measured, "vllm-0.24"), "c, vLLM 0.24.0");
  EXPECT_EQ(kernel_of(measured, "vllm"), "c, vLLM 0.24.0");
  // 0.19 is as far from 0.14 as from 0.24, which is newer; 0.9 is older than both.
  EXPECT_EQ(kernel_of(measured, "vllm-0.19"), "a, vLLM 0.14.0");
  EXPECT_EQ(kernel_of(measured, "vllm-0.9"), "a, vLLM 0.14.0");
  EXPECT_EQ(kernel_of(measured, "sglang-0.5.9"), "d, SGLang 0.5.14");
  EXPECT_EQ(kernel_of(measured, ""), "d, SGLang 0.5.14");
}

TEST(CurveSource, AShapeThatTheEngineWasNotTimedForTakesTheFastestOfAll) {
  Measured measured = timed({"a, vLLM 0.24.0", "b, SGLang 0.5.14", "c, TRTLLM 1.2.0"});
  measured.curves[0].shape.outputs = 4096;
  measured.curves[2].points[0].time = Seconds{0.5e-6};
  EXPECT_EQ(kernel_of(measured, "vllm-0.24"), "c, TRTLLM 1.2.0");
}

TEST(CurveSource, TheSmallEngineRunsWhateverWasCalibrated) {
  Measured measured = timed({"x, vLLM 0.24.0", "cuBLASLt 13.1", "roofcast 0.1.0 tiled"});
  measured.curves[2].points[0].time = Seconds{0.5e-6};
  EXPECT_EQ(kernel_of(measured, "roofcast"), "roofcast 0.1.0 tiled");
}

TEST(CurveSource, NearestFirst) {
  std::vector<std::string> sources = {"TRTLLM 1.0.0",  "NCCL 2.29.2", "vLLM 0.19.0", "TRTLLM 1.2.0",
                                      "SGLang 0.5.14", "vLLM 0.24.0", "SGLang 0.5.9"};
  const auto sorted_for = [&](const char* engine) {
    std::ranges::sort(sources, [&](const std::string& a, const std::string& b) {
      return is_nearer_source(a, b, engine);
    });
    return sources;
  };
  EXPECT_THAT(sorted_for("sglang-0.5.10"),
              ElementsAre("SGLang 0.5.9", "SGLang 0.5.14", "NCCL 2.29.2", "vLLM 0.24.0",
                          "vLLM 0.19.0", "TRTLLM 1.2.0", "TRTLLM 1.0.0"));
  // Two steps from 0.5.12, and three.
  EXPECT_THAT(sorted_for("sglang-0.5.12"),
              ElementsAre("SGLang 0.5.14", "SGLang 0.5.9", "NCCL 2.29.2", "vLLM 0.24.0",
                          "vLLM 0.19.0", "TRTLLM 1.2.0", "TRTLLM 1.0.0"));
  EXPECT_EQ(sorted_for("trtllm-1.1").front(), "TRTLLM 1.0.0");  // as near as 1.2, and not newer
  EXPECT_EQ(sorted_for("vllm-0.22").front(), "vLLM 0.24.0");
  EXPECT_EQ(sorted_for("vllm-0.21").front(), "vLLM 0.19.0");
  EXPECT_THAT(sorted_for("roofcast"),
              ElementsAre("NCCL 2.29.2", "vLLM 0.24.0", "vLLM 0.19.0", "SGLang 0.5.14",
                          "SGLang 0.5.9", "TRTLLM 1.2.0", "TRTLLM 1.0.0"));
}

TEST(CurveSource, EnginesWithKernelsOfTheirOwn) {
  EXPECT_TRUE(is_of_engine("vLLM 0.24.0", "vllm-0.19"));
  EXPECT_FALSE(is_of_engine("SGLang 0.5.14", "vllm-0.19"));
  EXPECT_FALSE(is_of_engine("NCCL 2.29.2", "nccl"));
  EXPECT_FALSE(is_of_engine("roofcast 0.1.0 tiled", "roofcast"));
}

TEST(CurveSource, AnEngineWithoutKernelsOfItsOwnRunsVllms) {
  EXPECT_EQ(kernel_owner("sglang-0.5"), "sglang");
  EXPECT_EQ(kernel_owner("trtllm"), "trtllm");
  EXPECT_EQ(kernel_owner("trtllm-1.3"), "trtllm");
  EXPECT_EQ(kernel_owner("trtllm-0.18"), "vllm");  // built engines, which no table times
  EXPECT_EQ(kernel_owner("roofcast"), "vllm");
  EXPECT_EQ(kernel_owner(""), "vllm");
}

}  // namespace
}  // namespace roofcast

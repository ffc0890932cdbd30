#include "model/curves/curve_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace roofcast {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

Measured timed(const std::vector<std::string>& kernels) {
  Measured measured;
  for (const std::string& kernel : kernels) measured.curves.push_back({.kernel = kernel});
  return measured;
}

std::vector<std::string> kernels_of(const Measured& measured) {
  std::vector<std::string> kernels;
  for (const MeasuredCurve& curve : measured.curves) kernels.push_back(curve.kernel);
  return kernels;
}

TEST(CurveSource, IsTheLastPartOfAKernelsName) {
  EXPECT_EQ(source_of("fa3, vLLM 0.24.0"), "vLLM 0.24.0");
  EXPECT_EQ(source_of("fa3, vLLM 0.24.0 or flashinfer, vLLM 0.24.0"), "vLLM 0.24.0");
  EXPECT_EQ(source_of("cuBLASLt 13.1"), "cuBLASLt 13.1");
}

TEST(CurveSource, AnEngineIsTimedWithItsOwnKernelsInTheNearestVersion) {
  const Measured measured =
      timed({"a, vLLM 0.14.0", "b, vLLM 0.24.0", "c, vLLM 0.24.0", "d, SGLang 0.5.14"});
  EXPECT_THAT(kernels_of(curves_of_engine(measured, "vllm-0.24")),
              ElementsAre("b, vLLM 0.24.0", "c, vLLM 0.24.0"));
  EXPECT_THAT(kernels_of(curves_of_engine(measured, "vllm")),
              ElementsAre("b, vLLM 0.24.0", "c, vLLM 0.24.0"));
  // 0.19 is newer than 0.14 and older than 0.24; 0.9 is older than both.
  EXPECT_THAT(kernels_of(curves_of_engine(measured, "vllm-0.19")), ElementsAre("a, vLLM 0.14.0"));
  EXPECT_THAT(kernels_of(curves_of_engine(measured, "vllm-0.9")), ElementsAre("a, vLLM 0.14.0"));
  EXPECT_THAT(kernels_of(curves_of_engine(measured, "sglang-0.5.9")),
              ElementsAre("d, SGLang 0.5.14"));
}

TEST(CurveSource, AShapeThatTheEngineWasNotTimedForKeepsAllItsCurves) {
  Measured measured = timed({"a, vLLM 0.24.0", "b, SGLang 0.5.14", "c, TRTLLM 1.2.0"});
  measured.curves[0].shape.outputs = 4096;
  EXPECT_THAT(kernels_of(curves_of_engine(measured, "vllm-0.24")),
              UnorderedElementsAre("a, vLLM 0.24.0", "b, SGLang 0.5.14", "c, TRTLLM 1.2.0"));
}

TEST(CurveSource, TheSmallEngineRunsWhateverWasCalibrated) {
  const Measured measured = timed({"cuBLASLt 13.1", "roofcast 0.1.0 tiled", "x, vLLM 0.24.0"});
  EXPECT_EQ(kernels_of(curves_of_engine(measured, "roofcast")).size(), 3u);
}

}  // namespace
}  // namespace roofcast

#include "roofcast/gpus.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "tests/roofcast/read_back.hpp"

namespace roofcast {
namespace {

constexpr const char* kProfiles = ROOFCAST_SOURCE_DIR "/tests/golden/profiles/";

void expect_round_trip(const GpuAnswer& answer) {
  test::read_back(answer, gpu_answer_from_json, gpu_answer_schema());
}

// Datasheet of the H100 SXM: 989.4 TFLOP/s dense in bf16, 3.35 TB/s: 295.3 FLOP/byte.
TEST(DescribeGpu, KnowsTheH100) {
  const GpuAnswer answer = describe_gpu("h100");
  EXPECT_EQ(answer.gpu.name, "nvidia-h100-sxm");
  EXPECT_DOUBLE_EQ(answer.gpu.memory_bandwidth.value, 3.35e12);
  const auto bf16 = std::find_if(answer.gpu.ridges.begin(), answer.gpu.ridges.end(),
                                 [](const auto& ridge) { return ridge.first == "bf16"; });
  ASSERT_NE(bf16, answer.gpu.ridges.end());
  EXPECT_DOUBLE_EQ(bf16->second.value, 989.4e12 / 3.35e12);
  EXPECT_EQ(answer.gpu.is_cpu, false);
  EXPECT_FALSE(answer.measured);
  expect_round_trip(answer);
}

TEST(DescribeGpu, TellsHowNearMeasuredPointsComeToTheDatasheet) {
  const GpuAnswer answer = describe_gpu(std::string(kProfiles) + "imaginary-gpu.json");
  ASSERT_TRUE(answer.measured);
  ASSERT_FALSE(answer.measured->curves.empty());
  for (const MeasuredCurveFacts& curve : answer.measured->curves) {
    for (const MeasuredPointFacts& point : curve.points) {
      EXPECT_GT(point.share_of_ceiling, 0) << curve.shape;
      EXPECT_THAT(point.ceiling, ::testing::AnyOf("peak", "bandwidth", "link"));
    }
  }
  expect_round_trip(answer);
}

TEST(DescribeGpu, RoundTripsACpu) {
  const GpuAnswer answer = describe_gpu(std::string(kProfiles) + "imaginary-cpu.json");
  EXPECT_EQ(answer.gpu.is_cpu, true);
  expect_round_trip(answer);
}

// Rows of one source and family differ in what they are of: attention alone or a whole block, and
// the weights of the block; which recurrent kernel.
TEST(DescribeGpu, TellsTheKernelsOfASourceApart) {
  std::size_t rows = 0;
  for (const char* gpu : {"h100", "h200", "b200", "a100-80gb", "l40s"}) {
    const GpuAnswer answer = describe_gpu(gpu);
    ASSERT_TRUE(answer.tables) << gpu;
    std::set<std::string> seen;
    for (const TableGroupFacts& group : answer.tables->groups) {
      const std::string row =
          group.source + " " + std::string(name_of(group.family)) + " " + group.of;
      EXPECT_TRUE(seen.insert(row).second) << gpu << ": " << row;
    }
    rows += seen.size();
  }
  EXPECT_GT(rows, 100U);
}

TEST(ListGpus, HasEveryProfile) {
  const GpuListAnswer list = list_gpus();
  EXPECT_EQ(list.gpus.size(), gpu_names().size());
  test::read_back(list, gpu_list_answer_from_json, gpu_list_answer_schema());
}

}  // namespace
}  // namespace roofcast

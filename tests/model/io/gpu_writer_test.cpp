#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/io/gpu_reader.hpp"
#include "tests/model/curves/measured_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;

/// A profile with every optional key and a curve for every operator of a mixture of experts.
Gpu calibrated_gpu() {
  Gpu gpu = load_gpu("h200").gpu;
  gpu.efficiencies.memory_bound =
      Curve{.points = {{4096, 0.123456789}}, .source = "a test", .assumed = true};
  Deployment deployment = test::deployment_of(test::qwen3_30b_a3b(), gpu, {.tensor = 2});
  gpu.measured = test::measured_for(deployment);
  Measured& measured = *gpu.measured;
  measured.device = "An invented \"H200\"\n";
  measured.identity = "GPU-0";
  measured.date = "2026-01-02T03:04:05Z";
  measured.tool = "a test";
  measured.protocol = "invented";
  measured.versions = {{"driver", "580"}, {"library", "1"}};
  measured.clock_hz = 1.83e9 + 1.0 / 3;
  measured.dropped_samples = 3;
  measured.rejected = {"one", "two"};
  measured.copy_bandwidth = BytesPerSecond{4.3e12};
  measured.read_bandwidth = BytesPerSecond{4.4e12};
  measured.upload_bandwidth = BytesPerSecond{5.1e10};
  measured.download_bandwidth = BytesPerSecond{5.2e10};
  measured.kernel_floor = Seconds{1.1e-6};
  measured.eager_launch = Seconds{3.3e-6};
  measured.graph_launch = Seconds{7.7e-6};
  measured.engine_step = Seconds{2.2e-5};
  return gpu;
}

TEST(GpuWriter, WritesWhatReadsBackEqualAndByteForByte) {
  const Gpu gpu = calibrated_gpu();
  const std::string text = write_gpu(gpu);
  const Gpu back = parse_gpu(text, "written.json");
  EXPECT_EQ(back, gpu);
  EXPECT_EQ(write_gpu(back), text);
}

TEST(GpuWriter, KeepsEveryBuiltInProfile) {
  for (const std::string& name : gpu_names()) {
    const Gpu gpu = load_gpu(name).gpu;
    const std::string text = write_gpu(gpu);
    const Gpu back = parse_gpu(text, name);
    EXPECT_EQ(back, gpu) << name;
    EXPECT_EQ(write_gpu(back), text) << name;
  }
}

TEST(GpuWriter, LeavesOutWhatIsNotKnown) {
  Gpu cpu = test::round_gpu();
  cpu.compute_capability.clear();
  cpu.name = cpu.display_name = cpu.vendor = cpu.architecture = "imaginary";
  cpu.l2_cache = Bytes{32e6};
  cpu.peer.reset();
  cpu.network.reset();
  cpu.gpus_per_node = 1;
  const std::string text = write_gpu(cpu);
  for (const char* key :
       {"board_power_w", "price", "link", "measured", "efficiency", "boost_clock_hz"}) {
    EXPECT_THAT(text, testing::Not(HasSubstr(key)));
  }
  EXPECT_THAT(text, HasSubstr("\"compute_capability\": \"\""));
  EXPECT_EQ(parse_gpu(text, "cpu.json"), cpu);
}

TEST(GpuWriter, LeavesOutWhatWasAssumed) {
  const Gpu gpu = parse_gpu(R"({"memory_bytes": 96e9, "memory_bandwidth_bytes_per_s": 4e12,
                                "multiprocessors": 100,
                                "dense_peak_flops_per_s": {"bf16": 8e14}})",
                            "next-card.json");
  const std::string text = write_gpu(gpu);
  for (const char* key : {"memory_visible_bytes", "l2_cache_bytes", "gpus_per_node", "fp32"}) {
    EXPECT_THAT(text, testing::Not(HasSubstr(key)));
  }
  EXPECT_THAT(text, HasSubstr("\"multiprocessors\": 100"));
  EXPECT_EQ(parse_gpu(text, "next-card.json"), gpu);
}

TEST(GpuWriter, GivesEachPointItsLine) {
  Gpu gpu = calibrated_gpu();
  gpu.measured->curves.resize(1);
  MeasuredCurve& curve = gpu.measured->curves[0];
  curve.points.resize(2);
  curve.points[0] = {.x = 1, .time = Seconds{0.25}, .relative_spread = 0.5, .samples = 7};
  curve.points[1] = {.x = 2, .time = Seconds{1}, .relative_spread = 0, .samples = 7};
  EXPECT_THAT(write_gpu(gpu), HasSubstr("\n          [1, 0.25, 0.5, 7],\n"
                                        "          [2, 1, 0, 7]\n        ]\n"));
}

TEST(GpuWriter, OrdersVersionsSoThatEqualProfilesAreEqualBytes) {
  Gpu gpu = calibrated_gpu();
  const std::string text = write_gpu(gpu);
  std::swap(gpu.measured->versions[0], gpu.measured->versions[1]);
  EXPECT_EQ(write_gpu(gpu), text);
}

TEST(GpuWriter, ReplacesBytesThatAreNoText) {
  Gpu gpu = calibrated_gpu();
  gpu.measured->device = "card \xff";
  EXPECT_EQ(parse_gpu(write_gpu(gpu), "written.json").measured->device, "card \xef\xbf\xbd");
}

}  // namespace
}  // namespace roofcast

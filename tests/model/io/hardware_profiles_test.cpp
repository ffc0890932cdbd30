// Every built-in profile is complete, sourced, physically plausible, and found by its own names
// only.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "model/io/gpu_reader.hpp"

namespace roofcast {
namespace {

using Json = nlohmann::json;

Json profile_text(const std::string& name) {
  std::ifstream file(std::filesystem::path(ROOFCAST_SOURCE_DIR) / "hardware_profiles" /
                     (name + ".json"));
  return Json::parse(file);
}

class HardwareProfile : public testing::TestWithParam<std::string> {
 protected:
  Gpu gpu_ = load_gpu(GetParam()).gpu;
};

/// Dotted paths of all numbers in the profile that need a source (curves state their own).
void collect_numbers(const Json& value, const std::string& path, std::vector<std::string>& out) {
  if (value.is_number()) out.push_back(path);
  if (!value.is_object() || path == "efficiency" || path == "sources") return;
  for (const auto& [key, inner] : value.items()) {
    std::string inner_path = path;
    if (!path.empty()) inner_path += '.';
    collect_numbers(inner, inner_path += key, out);
  }
}

bool has_source(const Gpu& gpu, std::string path) {
  while (true) {
    if (gpu.sources.contains(path)) return true;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return false;
    path.resize(dot);
  }
}

TEST_P(HardwareProfile, GivesTheSourceOfEveryNumber) {
  std::vector<std::string> numbers;
  collect_numbers(profile_text(GetParam()), "", numbers);
  EXPECT_GT(numbers.size(), 10U);
  for (const std::string& path : numbers) {
    if (path == "schema_version") continue;
    EXPECT_TRUE(has_source(gpu_, path)) << path;
  }
}

TEST_P(HardwareProfile, LeavesNothingToAssume) {
  EXPECT_TRUE(gpu_.assumed.empty());
  const Json text = profile_text(GetParam());
  for (const char* key : {"schema_version", "name", "display_name", "aliases", "vendor",
                          "architecture", "compute_capability", "sources"}) {
    EXPECT_TRUE(text.contains(key)) << key;
  }
}

// hardware_profiles/README.md: HIP graphs replay a kernel that waits for another in 3.87 us, CUDA
// graphs, of which the defaults are, in 2. Two kernels of experts wait twice.
TEST_P(HardwareProfile, OfAmdStartsEachKernelAsMuchLater) {
  if (gpu_.vendor != "AMD") return;
  const Floors defaults;
  const double later = 3.87e-6 - 2e-6;
  const double rounding = 0.05e-6 + 1e-12;
  for (Seconds Floors::*floor :
       {&Floors::gemm, &Floors::attention, &Floors::memory_bound, &Floors::all_reduce}) {
    EXPECT_NEAR((gpu_.floors.*floor).value, (defaults.*floor).value + later, rounding);
  }
  EXPECT_NEAR(gpu_.floors.moe.value, defaults.moe.value + 2 * later, rounding);
}

TEST_P(HardwareProfile, IsNamedAfterItsFile) { EXPECT_EQ(gpu_.name, GetParam()); }

TEST_P(HardwareProfile, IsFoundByEachOfItsNames) {
  for (const std::string& alias : gpu_.aliases) EXPECT_EQ(load_gpu(alias).gpu.name, gpu_.name);
  EXPECT_EQ(load_gpu(gpu_.display_name).gpu.name, gpu_.name);
}

TEST_P(HardwareProfile, ShowsNoMoreMemoryThanItHas) {
  // Sold in GB, built in GiB: the most that 80 "GB" can be is 80 GiB.
  EXPECT_LE(gpu_.memory_visible.value, gpu_.memory.value / 1e9 * kGiB);
  EXPECT_GE(gpu_.memory_visible.value, 0.9 * gpu_.memory.value);
}

/// bf16 (else fp16) FLOP per clock of one SM or CU, dense, fp32 accumulate: 2 x FMA lanes of its
/// tensor cores. A100, H100 and GeForce RTX whitepapers; AMD CDNA white papers. Workstation and
/// server Ada and Blackwell RTX run at twice the GeForce rate with fp32 accumulate, the L40 at that
/// of GeForce; an export limit leaves the H20 a quarter of an H100's. Volta and Turing: fp16, by
/// their whitepapers.
double flops_per_clock(const Gpu& gpu) {
  const std::map<std::string, double> by_architecture = {{"hopper", 4096}, {"blackwell", 8192},
                                                         {"cdna3", 2048},  {"cdna4", 4096},
                                                         {"volta", 1024},  {"turing", 1024}};
  const std::map<std::string, double> by_name = {
      {"nvidia-a10g", 512},          {"nvidia-rtx-3090", 512},   {"nvidia-rtx-4090", 512},
      {"nvidia-rtx-5090", 512},      {"nvidia-l4", 1024},        {"nvidia-l40s", 1024},
      {"nvidia-rtx-pro-6000", 1024}, {"nvidia-l40", 512},        {"nvidia-rtx-6000-ada", 1024},
      {"nvidia-a10", 1024},          {"nvidia-rtx-a6000", 1024}, {"nvidia-h20", 1024}};
  if (const auto named = by_name.find(gpu.name); named != by_name.end()) return named->second;
  if (gpu.architecture == "ampere") return 2048;
  return by_architecture.at(gpu.architecture);
}

TEST_P(HardwareProfile, StatesADensePeakThatItsUnitsReach) {
  ASSERT_TRUE(gpu_.boost_clock_hz);
  const double ceiling = gpu_.multiprocessors * *gpu_.boost_clock_hz * flops_per_clock(gpu_);
  const double half = gpu_.dense_peak.at(DType::fp16).value;
  EXPECT_LE(half, 1.005 * ceiling);  // datasheets round to three digits
  EXPECT_GE(half, 0.97 * ceiling);   // a 2:4 sparse figure would be twice the ceiling
}

TEST_P(HardwareProfile, DoublesItsRateWithEachHalvingOfTheFormat) {
  const auto& peak = gpu_.dense_peak;
  const double half = peak.at(DType::fp16).value;
  const bool before_ampere = gpu_.architecture == "volta" || gpu_.architecture == "turing";
  EXPECT_EQ(peak.contains(DType::bf16), !before_ampere);
  if (!before_ampere) {
    EXPECT_EQ(peak.at(DType::bf16).value, half);
  }
  if (peak.contains(DType::fp8)) {
    EXPECT_NEAR(peak.at(DType::fp8).value / half, 2, 0.03);
  }
  if (peak.contains(DType::tf32)) {
    EXPECT_NEAR(half / peak.at(DType::tf32).value, 2, 0.03);
  }
  const bool has_fp8_units = gpu_.architecture != "ampere" && !before_ampere;
  EXPECT_EQ(peak.contains(DType::fp8), has_fp8_units);
}

void expect_sane(const Curve& curve, double low, double high) {
  ASSERT_FALSE(curve.points.empty());
  EXPECT_FALSE(curve.source.empty());
  double last_x = 0;
  for (const Curve::Point& point : curve.points) {
    EXPECT_GT(point.x, last_x);
    EXPECT_GE(point.y, low);
    EXPECT_LE(point.y, high);
    last_x = point.x;
  }
}

TEST_P(HardwareProfile, ReachesNoMoreThanTheLimit) {
  const Efficiencies& e = gpu_.efficiencies;
  for (const auto& [format, curve] : e.gemm) expect_sane(curve, 0.1, 1);
  for (const auto& [format, curve] : e.moe) expect_sane(curve, 0.1, 1);
  for (const auto& [dtype, curve] : e.decode_attention) expect_sane(curve, 0.1, 1);
  if (e.prefill_attention) expect_sane(*e.prefill_attention, 0.1, 1);
  if (e.memory_bound) expect_sane(*e.memory_bound, 0.1, 1);
}

TEST_P(HardwareProfile, ReducesNoFasterThanItsLinks) {
  // To reduce b bytes, each of n GPUs must send at least b / 2 x 2 (n-1)/n: switches that reduce in
  // passing halve what a ring sends (NVLink SHARP).
  for (const auto& [ranks, curve] : gpu_.efficiencies.all_reduce) {
    expect_sane(curve, 1e-6, 1);
    ASSERT_TRUE(gpu_.peer);
    for (const Curve::Point& point : curve.points) {
      const Bytes sent{point.x * (ranks - 1) / ranks};
      EXPECT_GE(point.y, (sent / gpu_.peer->bandwidth).value) << ranks << " GPUs, " << point.x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HardwareProfile, testing::ValuesIn(gpu_names()),
                         [](const testing::TestParamInfo<std::string>& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(HardwareProfiles, ShareNoName) {
  std::map<std::string, std::string> owner;
  for (const std::string& name : gpu_names()) {
    const Gpu gpu = load_gpu(name).gpu;
    std::vector<std::string> spellings = gpu.aliases;
    spellings.push_back(gpu.name);
    spellings.push_back(gpu.display_name);
    for (const std::string& spelling : spellings) {
      const auto [found, added] = owner.emplace(gpu_name_key(spelling), name);
      EXPECT_EQ(found->second, name) << spelling;
    }
  }
}

TEST(HardwareProfiles, KeepTheMeasuredMemoryOfTheCardsThatWereMeasured) {
  EXPECT_EQ(load_gpu("RTX 4090").gpu.memory_visible.value, 25250627584.0);
  EXPECT_NEAR(load_gpu("H100").gpu.memory_visible.value / kGiB, 79.19, 0.005);
  EXPECT_NEAR(load_gpu("H200").gpu.memory_visible.value / kGiB, 139.8, 0.05);
  EXPECT_NEAR(load_gpu("L4").gpu.memory_visible.value / kGiB, 22.03, 0.005);
}

TEST(HardwareProfiles, AnswerWithTheRidgeOfTheDatasheet) {
  // A100 80 GB: 312e12 / 2039e9 = 153.0 FLOP/byte; H200: 989.4e12 / 4.8e12 = 206.1.
  const auto ridge = [](const std::string& name) {
    const Gpu gpu = load_gpu(name).gpu;
    return (gpu.peak_for(DType::bf16) / gpu.memory_bandwidth).value;
  };
  EXPECT_NEAR(ridge("A100"), 153.0, 0.05);
  EXPECT_NEAR(ridge("H200"), 206.1, 0.05);
}

}  // namespace
}  // namespace roofcast

#include "model/io/kernel_tables_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/fnv1a.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/step/roofline.hpp"
#include "tests/support/trials.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

MeasuredCurve experts() {
  return {
      .shape = {.family = OperatorFamily::moe,
                .format = "fp8_block",
                .outputs = 2048,
                .inputs = 7168,
                .experts = 256,
                .experts_per_token = 8,
                .gated = true,
                .expert_ranks = 8,
                .power_law = 120},
      .kernel = "deep_gemm, vLLM 0.24.0",
      .terms = {.floor = Seconds{1.25e-5}, .seconds_per_flop = 1e-15, .seconds_per_wave = 3e-6},
      .points =
          {{.x = 1, .time = stored_time(Seconds{2e-5}), .relative_spread = 0.05, .samples = 2},
           {.x = 512, .time = stored_time(Seconds{9e-4}), .relative_spread = 0.05, .samples = 2}},
      .graph_saving = Seconds{2e-6},
      .median_error = 0.03125,
      .p90_error = 0.125};
}

MeasuredCurve decode(std::int64_t heads) {
  MeasuredCurve curve{.shape = {.family = OperatorFamily::decode_attention,
                                .cache = DType::fp8,
                                .query_heads = heads,
                                .kv_heads = 1,
                                .head_dim = 576,
                                .value_dim = 512,
                                .latent = true,
                                .window = 1024,
                                .fp8_arithmetic = true},
                      .kernel = "flash_mla, SGLang 0.5.14",
                      .terms = {.seconds_per_byte = 4e-13},
                      .empty_tile = Seconds{1e-7},
                      .tail_token = Seconds{2e-8},
                      .writes_cache = true};
  std::mt19937 random(static_cast<unsigned>(heads));
  std::uniform_real_distribution<double> any(1e-6, 1e-2);
  for (const double x : {1.0, 3.0, 64.0}) {
    for (const double y : {16.0, 1024.0, 131072.0}) {
      if (x == 3 && y == 1024) continue;  // rows need not be alike
      curve.points.push_back({.x = x,
                              .y = y,
                              .time = stored_time(Seconds{any(random)}),
                              .relative_spread = 0.05,
                              .samples = 1});
    }
  }
  return curve;
}

std::vector<PackedGroup> groups() {
  std::vector<PackedGroup> list(2);
  list[0].group = {.source = "SGLang 0.5.14",
                   .key = group_key(decode(16).shape),
                   .timed = 90,
                   .median_error = 0.01,
                   .p90_error = 0.04};
  list[0].curves = {decode(16), decode(128)};
  list[1].group = {.source = "vLLM 0.24.0", .key = group_key(experts().shape), .timed = 2};
  list[1].curves = {experts()};
  return list;
}

std::string written() {
  return write_kernel_tables({.gpu = "nvidia-h200-sxm",
                              .device = "NVIDIA H200",
                              .tool = "roofcast 0.1.0",
                              .left_out = {"vLLM 0.19.0: 1 curve: no room"}},
                             groups());
}

/// Reads everything.
void unpack(const KernelTables& tables) {
  for (std::size_t i = 0; i < tables.groups().size(); ++i) tables.curves(i).all();
}

std::string complaint(const std::string& bytes) {
  const auto tables = read_kernel_tables("x", bytes);
  try {
    unpack(*tables);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(KernelTablesFile, ReadsBackWhatWasWritten) {
  const std::string bytes = written();
  const auto tables = read_kernel_tables("x", bytes);
  EXPECT_EQ(tables->record().gpu, "nvidia-h200-sxm");
  EXPECT_EQ(tables->record().device, "NVIDIA H200");
  EXPECT_EQ(tables->record().left_out, std::vector<std::string>{"vLLM 0.19.0: 1 curve: no room"});
  std::vector<PackedGroup> expected = groups();
  expected[0].group.curves = 2;
  expected[0].group.points = 16;
  expected[1].group.curves = 1;
  expected[1].group.points = 2;
  ASSERT_EQ(tables->groups().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(tables->groups()[i], expected[i].group);
    EXPECT_EQ(tables->curves(i).all(), expected[i].curves);
  }
}

TEST(KernelTablesFile, EqualTablesGiveEqualBytes) { EXPECT_EQ(written(), written()); }

TEST(KernelTablesFile, AStoredTimeIsAtMostHalfAStepOff) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> octave(-29, 13);  // 2 ns to 8,000 s
  for (int i = 0; i < 10000; ++i) {
    const Seconds time{std::exp2(octave(random))};
    // 128 steps in an octave are at most 1 / 128 of the time apart.
    EXPECT_NEAR(stored_time(time) / time, 1.0, 0.5 / 128 + 1e-9);
    EXPECT_EQ(stored_time(stored_time(time)), stored_time(time));
    EXPECT_GE(stored_time(time, true) / time, 1.0 - 1e-12);
    EXPECT_LE(stored_time(time, true) / time, 1.0 + 1.0 / 128 + 1e-9);
  }
}

TEST(KernelTablesFile, TheHashIsThatOfWhatFollowsIt) {
  const std::string bytes = written();
  const std::string_view stated = stated_hash(bytes);
  ASSERT_EQ(stated.size(), 16u);
  EXPECT_EQ(std::stoull(std::string(stated), nullptr, 16),
            fnv1a(std::string_view(bytes).substr(24)));
  EXPECT_EQ(stated_hash("short"), "");
}

TEST(KernelTablesFile, ATruncatedFileIsRefusedInOneLine) {
  const std::string bytes = written();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string line = complaint(bytes.substr(0, size));
    ASSERT_THAT(line, StartsWith("kernel tables x: ")) << size;
    ASSERT_EQ(line.find('\n'), std::string::npos);
  }
  EXPECT_THAT(complaint(bytes + "x"), HasSubstr("longer than its header says"));
}

TEST(KernelTablesFile, ADamagedFileIsRefusedOrAnswersInRange) {
  const std::string bytes = written();
  std::mt19937 random(5);
  std::uniform_int_distribution<std::size_t> place(0, bytes.size() - 1);
  std::uniform_int_distribution<int> letter(1, 255);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes;
    const std::size_t at = place(random);
    damaged[at] = static_cast<char>(damaged[at] ^ letter(random));
    const std::string line = complaint(damaged);
    if (line.empty()) continue;  // in the hash, which nothing depends on
    ++refused;
    ASSERT_THAT(line, StartsWith("kernel tables x: "));
    ASSERT_EQ(line.find('\n'), std::string::npos);
  }
  EXPECT_GT(refused, 2000);
}

TEST(KernelTablesFile, AnUnknownNameInAProfileIsRefused) {
  std::string profile = write_gpu(load_gpu("rtx-3090").gpu);
  profile.insert(profile.find("\"sources\""), "\"kernel_tables\": \"nvidia-h9\",\n  ");
  try {
    parse_gpu(profile, "p.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith("hardware profile p.json: kernel_tables: there are no "
                                         "built-in kernel tables \"nvidia-h9\""));
  }
}

/// Every built-in file, wholly unpacked.
TEST(BuiltInKernelTables, AreWhole) {
  ASSERT_FALSE(kernel_table_names().empty());
  std::size_t all = 0;
  for (const std::string& name : kernel_table_names()) {
    SCOPED_TRACE(name);
    const std::string_view bytes = built_in_table_bytes(name);
    EXPECT_LE(bytes.size(), 1'500'000u);
    all += bytes.size();
    EXPECT_EQ(std::stoull(std::string(stated_hash(bytes)), nullptr, 16), fnv1a(bytes.substr(24)));
    const auto tables = built_in_tables(name);
    EXPECT_EQ(tables->record().gpu, name);
    for (std::size_t i = 0; i < tables->groups().size(); ++i) {
      const TableGroup& group = tables->groups()[i];
      const std::vector<MeasuredCurve> curves = tables->curves(i).all();
      ASSERT_EQ(std::ssize(curves), group.curves);
      std::int64_t points = 0;
      for (std::size_t c = 0; c < curves.size(); ++c) {
        ASSERT_EQ(group_key(curves[c].shape), group.key);
        if (c > 0) {
          ASSERT_LT(curves[c - 1].shape, curves[c].shape);
        }
        points += std::ssize(curves[c].points);
      }
      EXPECT_EQ(points, group.points);
      EXPECT_LE(group.points, group.timed);
      EXPECT_LE(group.median_error, 0.03);
      EXPECT_LE(group.p90_error, 0.10);
    }
  }
  EXPECT_LE(all, 15'000'000u);
}

TEST(BuiltInKernelTables, HoldNothingThatBeatsTheirGpusPhysics) {
  if (test::kSanitised) GTEST_SKIP() << "AreWhole reads the same tables";
  for (const std::string& name : gpu_names()) {
    const Gpu gpu = load_gpu(name).gpu;
    if (!gpu.tables || gpu.sister) continue;  // a sister's are scaled as they answer
    SCOPED_TRACE(name);
    for (std::size_t i = 0; i < gpu.tables->groups().size(); ++i) {
      for (const MeasuredCurve& curve : gpu.tables->curves(i).all()) {
        for (std::size_t p = 0; p < curve.points.size(); ++p) {
          const MeasuredPoint& point = curve.points[p];
          ASSERT_FALSE(beats_physics(curve.shape, point, gpu)) << curve.kernel << " " << point.x;
          ASSERT_GT(base_time(curve, point.x, point.y, gpu.multiprocessors).value, 0);
          if (p == 0) continue;
          const MeasuredPoint& before = curve.points[p - 1];
          ASSERT_LT(std::pair(before.x, before.y), std::pair(point.x, point.y));
        }
      }
    }
  }
}

TEST(BuiltInKernelTables, EachIsThatOfOneProfile) {
  std::vector<std::string> named;
  for (const std::string& name : gpu_names()) {
    const GpuProfile profile = load_gpu(name);
    if (!profile.gpu.tables || profile.gpu.sister) continue;
    named.push_back(profile.gpu.tables->name());
    EXPECT_EQ(profile.gpu.tables->record().gpu, name);
    EXPECT_TRUE(profile.gpu.sources.contains("kernel_tables")) << name;
    EXPECT_EQ(parse_gpu(write_gpu(profile.gpu), name).tables, profile.gpu.tables);
  }
  EXPECT_THAT(named, testing::UnorderedElementsAreArray(kernel_table_names()));
}

}  // namespace
}  // namespace roofcast

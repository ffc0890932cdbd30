#include "calibrate/packing/pack_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "calibrate/packing/thinning.hpp"
#include "model/io/gpu_reader.hpp"
#include "tests/calibrate/deepseek_experts.hpp"

namespace roofcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kUnits = 100;

OperatorShape product(std::int64_t outputs = 4096) {
  return {.family = OperatorFamily::gemm, .format = "fp16", .outputs = outputs, .inputs = 4096};
}

MeasuredCurve constant_base(const OperatorShape& shape, const std::string& kernel) {
  return {.shape = shape, .kernel = kernel, .terms = {.floor = Seconds{1e-5}}};
}

void add(MeasuredCurve& curve, double x, double y, double ratio) {
  curve.points.push_back(
      {.x = x, .y = y, .time = Seconds{1e-5 * ratio}, .relative_spread = 0.05, .samples = 1});
}

TEST(Thinning, KeepsTheEndsOfWhatFollowsItsBase) {
  MeasuredCurve curve = constant_base(product(), "k");
  for (double x = 1; x <= 1024; x *= 2) add(curve, x, 0, 1.3);
  const ThinnedCurve thin = thinned(curve, 0.05, kUnits);
  ASSERT_EQ(thin.curve.points.size(), 2u);
  EXPECT_EQ(thin.curve.points[0].x, 1);
  EXPECT_EQ(thin.curve.points[1].x, 1024);
  EXPECT_EQ(thin.errors.size(), 9u);
  EXPECT_NEAR(*std::ranges::max_element(thin.errors), 0, 1e-12);
}

TEST(Thinning, KeepsWhatItsNeighboursDoNotAnswer) {
  // Twice the base at 64 tokens alone: without it 64 would be half as long, and without its
  // neighbours these would be up to 1.5 times.
  MeasuredCurve curve = constant_base(product(), "k");
  for (double x = 1; x <= 4096; x *= 2) add(curve, x, 0, x == 64 ? 2 : 1);
  const ThinnedCurve thin = thinned(curve, 0.05, kUnits);
  std::vector<double> kept;
  for (const MeasuredPoint& point : thin.curve.points) kept.push_back(point.x);
  EXPECT_THAT(kept, ElementsAre(1, 32, 64, 128, 4096));
}

TEST(Thinning, KeepsBothSidesOfAStepBehindAPowerOfTwo) {
  // A product is never answered across 64 | 65 where 65 is kept.
  MeasuredCurve curve = constant_base(product(), "k");
  for (const double x : {1, 16, 32, 48, 64}) add(curve, x, 0, 1);
  for (const double x : {65, 96, 128, 256}) add(curve, x, 0, 1.5);
  const ThinnedCurve thin = thinned(curve, 0.05, kUnits);
  std::vector<double> kept;
  for (const MeasuredPoint& point : thin.curve.points) kept.push_back(point.x);
  EXPECT_THAT(kept,
              ElementsAre(1, 64, 65, 256));  // without 64, 48 would be extended, not interpolated
}

/// Whatever is thinned, every point left out is answered within the tolerance.
TEST(Thinning, NeverErrsMoreThanItsTolerance) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> noise(0.9, 1.1);
  for (int round = 0; round < 60; ++round) {
    const auto family =
        std::array{OperatorFamily::gemm, OperatorFamily::decode_attention,
                   OperatorFamily::prefill_attention}[static_cast<std::size_t>(round % 3)];
    OperatorShape shape{.family = family, .query_heads = 8, .kv_heads = 2, .head_dim = 128};
    shape.value_dim = 128;
    if (family == OperatorFamily::gemm) shape = product();
    MeasuredCurve curve{
        .shape = shape,
        .terms = {.floor = Seconds{3e-6}, .seconds_per_flop = 2e-15, .seconds_per_byte = 4e-13}};
    for (double x = 1; x <= 8192; x *= 2) {
      for (double y = 1; y <= (has_second_axis(family) ? 1e5 : 1); y *= 3) {
        if (noise(random) > 1.07) continue;  // rows need not be alike
        const double at_y = has_second_axis(family) ? y : 0;
        const Seconds base = base_time(curve, x, at_y, kUnits);
        curve.points.push_back({.x = x, .y = at_y, .time = base * noise(random), .samples = 1});
      }
    }
    for (const double tolerance : {0.02, 0.05, 0.1}) {
      const ThinnedCurve thin = thinned(curve, tolerance, kUnits);
      EXPECT_EQ(thin.curve.points.size() + thin.errors.size(), curve.points.size());
      EXPECT_EQ(thin.curve.points.front(), curve.points.front());
      EXPECT_EQ(thin.curve.points.back(), curve.points.back());
      for (const MeasuredPoint& point : curve.points) {
        const Seconds guess = answer(thin.curve, point.x, point.y, kUnits).time;
        ASSERT_NEAR(guess / point.time, 1, tolerance + 1e-12);
      }
    }
  }
}

TEST(Thinning, ALongCurveKeepsAtMostAsManyPointsAsAsked) {
  // Every other size takes 3 % longer, which the first tolerances tell apart and 4 % does not.
  MeasuredCurve curve = constant_base(product(), "k");
  for (int x = 1; x <= 64; ++x) add(curve, x, 0, x % 2 == 0 ? 1.03 : 1.0);
  EXPECT_EQ(with_at_most(curve, 64, kUnits).curve, curve);
  EXPECT_EQ(with_at_most(curve, 64, kUnits).tolerance, 0);
  const auto [few, tolerance] = with_at_most(curve, 10, kUnits);
  EXPECT_DOUBLE_EQ(tolerance, 0.04);
  EXPECT_LE(few.points.size(), 10u);
  EXPECT_EQ(few.points.front().x, 1);
  EXPECT_EQ(few.points.back().x, 64);
  for (const MeasuredPoint& point : curve.points) {
    EXPECT_NEAR(answer(few, point.x, 0, kUnits).time / point.time, 1, 0.04);
  }
}

TEST(Thinning, ACurveThatCannotBeShortEnoughIsRefused) {
  // The first and last of both axes stay: four points.
  OperatorShape shape{
      .family = OperatorFamily::decode_attention, .query_heads = 8, .kv_heads = 2, .head_dim = 128};
  shape.value_dim = 128;
  MeasuredCurve curve = constant_base(shape, "k");
  for (double x = 1; x <= 8; x *= 2) {
    for (double y = 100; y <= 800; y *= 2) add(curve, x, y, 1);
  }
  EXPECT_EQ(with_at_most(curve, 4, kUnits).curve.points.size(), 4u);
  EXPECT_THROW(with_at_most(curve, 3, kUnits), Error);
}

TEST(Thinning, UncertaintyGrowsToTheErrorOfWhatIsLeftOut) {
  MeasuredCurve curve = constant_base(product(), "k");
  for (double x = 1; x <= 64; x *= 2) add(curve, x, 0, x == 8 ? 1.04 : 1);
  curve.median_error = 0.001;
  curve.p90_error = 0.002;
  EXPECT_GT(thinned(curve, 0.05, kUnits).curve.p90_error, 0.01);
  curve.median_error = curve.p90_error = 0;  // unknown, and so it stays
  EXPECT_EQ(thinned(curve, 0.05, kUnits).curve.p90_error, 0);
}

/// A GPU whose tables have these sources, each with the given number of products that no thinning
/// shortens.
Gpu timed(const std::vector<std::pair<std::string, int>>& sources, const char* name = "h200") {
  Gpu gpu = load_gpu(name).gpu;
  gpu.measured.emplace();
  std::mt19937 random(9);
  std::uniform_real_distribution<double> noise(1, 2);
  for (const auto& [source, count] : sources) {
    for (int i = 0; i < count; ++i) {
      MeasuredCurve curve{.shape = product(256 * (i + 1)),
                          .kernel = "k, " + source,
                          .terms = {.floor = Seconds{1e-5}}};
      for (double x = 1; x <= 512; x *= 2) add(curve, x, 0, 4 * noise(random));
      gpu.measured->curves.push_back(std::move(curve));
    }
  }
  return gpu;
}

TEST(Packing, OlderVersionsAreLeftOutFirstAndSaidToBe) {
  const Gpu gpu = timed({{"vLLM 0.19.0", 40}, {"vLLM 0.24.0", 40}, {"SGLang 0.5.14", 40}});
  const PackedTables all = pack_tables(gpu, {.gpu = gpu.name});
  ASSERT_EQ(all.sources.size(), 3u);
  EXPECT_EQ(all.sources[2].source, "vLLM 0.19.0");
  EXPECT_TRUE(all.sources[2].kept);
  const std::size_t room = all.sources[0].bytes + all.sources[1].bytes + 100;
  const PackedTables two = pack_tables(gpu, {.gpu = gpu.name}, {.max_bytes = room});
  EXPECT_LE(two.bytes.size(), room + 200);  // the line that says so
  EXPECT_FALSE(two.sources[2].kept);
  const auto tables = read_kernel_tables(gpu.name, two.bytes);
  EXPECT_EQ(tables->groups().size(), 2u);
  ASSERT_EQ(tables->record().left_out.size(), 1u);
  EXPECT_THAT(tables->record().left_out[0], HasSubstr("vLLM 0.19.0: 40 curves"));
  EXPECT_THROW(pack_tables(gpu, {.gpu = gpu.name}, {.max_bytes = 100}), Error);
}

TEST(Packing, SourcesThatDoNotAnswerOnAGpuAreLeftOutAndSaidToBe) {
  const Gpu gpu = timed({{"vLLM 0.24.0", 3}, {"SGLang 0.5.14", 2}}, "h100");
  const PackedTables packed = pack_tables(gpu, {.gpu = gpu.name});
  const auto tables = read_kernel_tables(gpu.name, packed.bytes);
  ASSERT_EQ(tables->groups().size(), 1u);
  EXPECT_EQ(tables->groups()[0].source, "SGLang 0.5.14");
  ASSERT_EQ(tables->record().left_out.size(), 1u);
  EXPECT_THAT(tables->record().left_out[0], HasSubstr("vLLM 0.24.0: 3 curves"));
}

TEST(Packing, OfSeveralKernelsTheOneThatAnswersIsKept) {
  Gpu gpu = timed({{"vLLM 0.24.0", 1}});
  MeasuredCurve faster = gpu.measured->curves[0];
  faster.kernel = "faster, vLLM 0.24.0";
  for (MeasuredPoint& point : faster.points) point.time = point.time / 1.5;
  gpu.measured->curves.push_back(faster);
  const PackedTables packed = pack_tables(gpu, {});
  ASSERT_EQ(packed.groups.size(), 1u);
  ASSERT_EQ(packed.groups[0].curves.size(), 1u);
  EXPECT_EQ(packed.groups[0].curves[0].kernel, "faster, vLLM 0.24.0");
}

TEST(Packing, KernelsThatTheEngineDoesNotRunThereAreLeftOut) {
  // TensorRT-LLM multiplies MXFP4 experts in MXFP8 on Blackwell, in 16 bits on Hopper.
  MeasuredCurve curve{.shape = {.family = OperatorFamily::moe,
                                .format = "mxfp4",
                                .outputs = 2880,
                                .inputs = 2880,
                                .experts = 128,
                                .experts_per_token = 4,
                                .gated = true},
                      .kernel = "moe_torch_flow, TRTLLM 1.3.0rc20",
                      .terms = {.floor = Seconds{1e-3}}};
  for (double x = 1; x <= 512; x *= 2) add(curve, x, 0, 500);
  const auto packed = [&](const char* name) {
    Gpu gpu = load_gpu(name).gpu;
    gpu.measured.emplace();
    gpu.measured->curves = {curve, constant_base(product(), "k, TRTLLM 1.3.0rc20")};
    for (double x = 1; x <= 512; x *= 2) add(gpu.measured->curves[1], x, 0, 40);
    return pack_tables(gpu, {});
  };
  EXPECT_EQ(packed("h200").groups.size(), 2u);
  const PackedTables b200 = packed("b200");
  ASSERT_EQ(b200.groups.size(), 1u);
  EXPECT_EQ(b200.groups[0].group.key.family, OperatorFamily::gemm);
  const auto tables = read_kernel_tables("b200", b200.bytes);
  ASSERT_EQ(tables->record().left_out.size(), 1u);
  EXPECT_THAT(tables->record().left_out[0], HasSubstr("TRTLLM 1.3.0rc20, mxfp4 moe: 1 curves"));
}

// TensorRT-LLM's choice of moe_config.backend, and the same kernels as SGLang runs them.
TEST(Packing, ExpertsInKernelsThatAreChosenByNameAreKeptApart) {
  MeasuredCurve curve{.shape = test::deepseek_experts("nvfp4"),
                      .kernel = "moe_torch_flow_cutlass, TRTLLM 1.3.0rc20",
                      .terms = {.floor = Seconds{1e-3}}};
  for (double x = 1; x <= 512; x *= 2) add(curve, x, 0, 500);
  Gpu gpu = load_gpu("b200").gpu;
  gpu.measured.emplace();
  for (const char* kernel :
       {"moe_torch_flow_cutlass, TRTLLM 1.3.0rc20", "moe_torch_flow_min_latency, TRTLLM 1.3.0rc20",
        "sglang_flashinfer_trtllm_moe, SGLang 0.5.14", "vllm_nvfp4_moe, vLLM 0.24.0"}) {
    curve.kernel = kernel;
    gpu.measured->curves.push_back(curve);
  }
  std::vector<std::string> names;
  for (const PackedGroup& packed : pack_tables(gpu, {}).groups) {
    for (const MeasuredCurve& kept : packed.curves) {
      names.push_back(packed.group.source + ": " + kept.shape.name);
      EXPECT_EQ(packed.group.key.name, kept.shape.name);
    }
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("TRTLLM 1.3.0rc20: cutlass",
                                                   "TRTLLM 1.3.0rc20: trtllm_gen",
                                                   "SGLang 0.5.14: trtllm_gen", "vLLM 0.24.0: "));
}

// What the import adds as the fastest of two kernels at each size is no kernel that an engine runs,
// and jumps where the two were timed at different sizes.
TEST(Packing, ExpertsAreOfOneKernelAtAllSizes) {
  MeasuredCurve curve{.shape = {.family = OperatorFamily::moe,
                                .format = "nvfp4",
                                .outputs = 768,
                                .inputs = 2048,
                                .experts = 128,
                                .experts_per_token = 8,
                                .gated = true},
                      .kernel = "moe_torch_flow_cutlass, TRTLLM 1.3.0rc20",
                      .terms = {.floor = Seconds{1e-5}}};
  MeasuredCurve joined = curve;
  joined.kernel += " or moe_torch_flow_min_latency, TRTLLM 1.3.0rc20";
  for (double x = 16; x <= 2048; x *= 2) add(curve, x, 0, 18);
  add(joined, 16, 0, 18);
  for (double x = 32; x <= 2048; x *= 2) add(joined, x, 0, 7);
  Gpu gpu = load_gpu("b200").gpu;
  gpu.measured.emplace();
  gpu.measured->curves = {joined, curve};
  const PackedTables packed = pack_tables(gpu, {});
  ASSERT_EQ(packed.groups.size(), 1u);
  ASSERT_EQ(packed.groups[0].curves.size(), 1u);
  const MeasuredCurve& kept = packed.groups[0].curves[0];
  EXPECT_EQ(kept.kernel, curve.kernel);
  EXPECT_NEAR(answer(kept, 2048, 0, gpu.multiprocessors).time.value, 18e-5, 1e-6);
}

// A rank's 32 experts of 256 read less than 48 of 384 of the same size: where they take longer, the
// collector ran them with the tactics that it had tuned for TRTLLM-gen's.
TEST(Packing, ExpertsThatTakeLongerThanMoreOfThemAreLeftOut) {
  const auto experts = [](const char* kernel, std::int64_t count, double ratio) {
    MeasuredCurve curve{.shape = test::deepseek_experts("nvfp4", count, 8),
                        .kernel = std::string(kernel) + ", TRTLLM 1.3.0rc20",
                        .terms = {.floor = Seconds{1e-3}}};
    for (double x = 1; x <= 512; x *= 2) add(curve, x, 0, ratio);
    return curve;
  };
  const auto kept = [&](double ratio, bool with_gen) {
    Gpu gpu = load_gpu("b200").gpu;
    gpu.measured.emplace();
    gpu.measured->curves = {experts("moe_torch_flow_cutlass", 256, ratio),
                            experts("moe_torch_flow_cutlass", 384, 1000)};
    if (with_gen) {
      gpu.measured->curves.push_back(experts("moe_torch_flow_min_latency", 256, 800));
    }
    std::vector<std::string> names;
    const PackedTables tables = pack_tables(gpu, {});
    for (const PackedGroup& packed : tables.groups) {
      for (const MeasuredCurve& curve : packed.curves) {
        names.push_back(curve.shape.name + " " + std::to_string(curve.shape.experts));
      }
    }
    return names;
  };
  EXPECT_THAT(kept(1200, true), testing::UnorderedElementsAre("cutlass 384", "trtllm_gen 256"));
  EXPECT_THAT(kept(1050, true),
              testing::UnorderedElementsAre("cutlass 256", "cutlass 384", "trtllm_gen 256"));
  EXPECT_THAT(kept(1200, false), testing::UnorderedElementsAre("cutlass 256", "cutlass 384"));
}

/// Tables of the H200 with one curve of experts: microseconds by tokens.
PackedTables packed_experts(const char* kernel,
                            std::initializer_list<std::pair<double, double>> times) {
  MeasuredCurve curve{.shape = test::deepseek_experts("fp8", 256, 8),
                      .kernel = kernel,
                      .terms = {.floor = Seconds{1e-5}}};
  for (const auto& [tokens, microseconds] : times) {
    curve.points.push_back({.x = tokens, .time = Seconds{microseconds * 1e-6}});
  }
  Gpu gpu = load_gpu("h200").gpu;
  gpu.measured.emplace();
  gpu.measured->curves = {curve};
  return pack_tables(gpu, {.gpu = gpu.name});
}

double microseconds_of(const PackedTables& packed, double tokens) {
  const MeasuredCurve& kept = packed.groups.at(0).curves.at(0);
  return 1e6 * answer(kept, tokens, 0, load_gpu("h200").gpu.multiprocessors).time.value;
}

// Two of Llama-4-Scout's layouts on the H200 took 956 us with 16 tokens and 369 with 2,048. Times
// that are longer by a tenth or less may be chance.
TEST(Packing, ExpertsTakeNoLongerThanMoreTokensOfThem) {
  const PackedTables packed =
      packed_experts("moe_torch_flow_cutlass, TRTLLM 1.3.0rc20",
                     {{1, 100}, {16, 956}, {256, 400}, {2048, 369}, {4096, 688}});
  EXPECT_NEAR(microseconds_of(packed, 1), 100, 2);
  EXPECT_NEAR(microseconds_of(packed, 16), 369, 4);
  EXPECT_NEAR(microseconds_of(packed, 256), 400, 4);
  EXPECT_NEAR(microseconds_of(packed, 2048), 369, 4);
  EXPECT_NEAR(microseconds_of(packed, 4096), 688, 7);
  EXPECT_THAT(read_kernel_tables("nvidia-h200-sxm", packed.bytes)->record().left_out,
              ElementsAre(HasSubstr("TRTLLM 1.3.0rc20, fp8 moe: times of 1 size: longer than")));
}

// Their kernels are chosen by the number of tokens, which is what they run.
TEST(Packing, ExpertsOfOtherEnginesKeepTheirTimes) {
  const PackedTables packed =
      packed_experts("fused_moe, SGLang 0.5.14", {{1, 100}, {16, 956}, {256, 400}});
  EXPECT_NEAR(microseconds_of(packed, 16), 956, 10);
}

// 256 experts over 8 ranks are all read from 32 tokens on, 384 from 48 on, with as many picks of a
// rank. Reading 16 experts more took 60 us. At 4,096 tokens they took less than that tells when
// they ran themselves.
TEST(Packing, ExpertsThatWereNotTunedAreToldFromMoreThatWere) {
  const auto experts = [](const char* kernel, std::int64_t count, const auto& microseconds) {
    MeasuredCurve curve{.shape = test::deepseek_experts("nvfp4", count, 8),
                        .kernel = std::string(kernel) + ", TRTLLM 1.3.0rc20",
                        .terms = {.floor = Seconds{1e-5}}};
    for (const auto& [tokens, time] : microseconds) {
      curve.points.push_back({.x = tokens, .time = Seconds{time * 1e-6}});
    }
    return curve;
  };
  using Times = std::vector<std::pair<double, double>>;
  const Times tuned{{8, 70}, {32, 160}, {40, 190}, {48, 220}, {512, 240}, {4096, 350}};
  const Times slow{{8, 120}, {32, 310}, {40, 315}, {48, 310}, {512, 290}, {4096, 280}};
  Gpu gpu = load_gpu("b200").gpu;
  gpu.measured.emplace();
  gpu.measured->curves = {experts("moe_torch_flow_cutlass", 256, slow),
                          experts("moe_torch_flow_cutlass", 384, tuned),
                          experts("moe_torch_flow_min_latency", 256, tuned)};
  const PackedTables packed = pack_tables(gpu, {});
  const Times expected{{8, 70}, {32, 160}, {40, 160}, {48, 160}, {512, 180}, {4096, 280}};
  int found = 0;
  for (const PackedGroup& group : packed.groups) {
    for (const MeasuredCurve& curve : group.curves) {
      if (curve.shape.name != "cutlass" || curve.shape.experts != 256) continue;
      ++found;
      for (const auto& [tokens, time] : expected) {
        // As stored and thinned: within a few per cent.
        EXPECT_NEAR(answer(curve, tokens, 0, gpu.multiprocessors).time.value, time * 1e-6,
                    0.04 * time * 1e-6)
            << tokens;
      }
    }
  }
  EXPECT_EQ(found, 1);
}

// Its absorbed products, one for each head, are another table's.
TEST(Packing, ProductsOfWeightsLeftUnsetAreLeftOut) {
  OperatorShape shape = product();
  shape.format = "bf16";
  OperatorShape absorbed = shape;
  absorbed.query_heads = 16;
  Gpu gpu = load_gpu("h200").gpu;
  gpu.measured.emplace();
  gpu.measured->curves = {constant_base(shape, "linear, vLLM 0.24.0"),
                          constant_base(shape, "linear, SGLang 0.5.14"),
                          constant_base(absorbed, "bmm, vLLM 0.24.0")};
  for (MeasuredCurve& curve : gpu.measured->curves) {
    for (double x = 1; x <= 512; x *= 2) add(curve, x, 0, 100);
  }
  const PackedTables packed = pack_tables(gpu, {});
  ASSERT_EQ(packed.groups.size(), 2u);
  for (const PackedGroup& group : packed.groups) {
    ASSERT_EQ(group.curves.size(), 1u);
    const bool for_heads = group.curves[0].shape.query_heads > 0;
    EXPECT_EQ(group.group.source, for_heads ? "vLLM 0.24.0" : "SGLang 0.5.14");
  }
  const auto tables = read_kernel_tables("h200", packed.bytes);
  ASSERT_EQ(tables->record().left_out.size(), 1u);
  EXPECT_THAT(tables->record().left_out[0], HasSubstr("vLLM 0.24.0, bf16 gemm: 1 curves"));
}

// On an A100 what is left unset shows from 2,048 rows on.
TEST(Packing, ProductsOfWeightsLeftUnsetAreKeptWhereTheyTakeAsLong) {
  OperatorShape shape = product();
  shape.format = "bf16";
  Gpu gpu = load_gpu("a100").gpu;
  gpu.measured.emplace();
  gpu.measured->curves = {constant_base(shape, "linear, vLLM 0.14.0")};
  for (double x = 1; x <= 4096; x *= 2) add(gpu.measured->curves[0], x, 0, 100);
  const PackedTables packed = pack_tables(gpu, {});
  ASSERT_EQ(packed.groups.size(), 1u);
  ASSERT_EQ(packed.groups[0].curves.size(), 1u);
  EXPECT_EQ(packed.groups[0].curves[0].points.back().x, 1024);
  EXPECT_EQ(read_kernel_tables("a100", packed.bytes)->record().left_out.size(), 1u);
}

TEST(Packing, SourcesArePartedAndNcclIsItsOwn) {
  Gpu gpu = timed({{"TRTLLM 1.2.0", 1}});
  MeasuredCurve joined = gpu.measured->curves[0];
  joined.kernel = "TRTLLM 1.2.0 or TRTLLM 1.3.0";
  MeasuredCurve gather = constant_base(
      {.family = OperatorFamily::collective, .ranks = 8, .exchange = Exchange::all_gather},
      "NCCL, TRTLLM 2.29.2");
  add(gather, 1e6, 0, 2);
  gpu.measured->curves.push_back(joined);
  gpu.measured->curves.push_back(gather);
  const PackedTables packed = pack_tables(gpu, {});
  ASSERT_EQ(packed.groups.size(), 2u);
  std::vector<std::string> sources;
  for (const PackedGroup& one : packed.groups) sources.push_back(one.group.source);
  EXPECT_THAT(sources, testing::UnorderedElementsAre("NCCL 2.29.2", "TRTLLM 1.2.0"));
}

TEST(Packing, ErrorsOfWhatIsLeftOutAreStated) {
  const Gpu h200 = load_gpu("h200").gpu;
  Gpu gpu = h200;
  gpu.measured.emplace();
  MeasuredCurve curve = constant_base(product(), "k, vLLM 0.24.0");
  for (double x = 1; x <= 512; x *= 2) add(curve, x, 0, 4 * (x == 16 || x == 64 ? 1.04 : 1));
  gpu.measured->curves = {curve};
  const PackedTables packed = pack_tables(gpu, {});
  const TableGroup& group = packed.groups[0].group;
  EXPECT_EQ(group.timed, 10);
  EXPECT_EQ(packed.groups[0].curves[0].points.size(), 2u);
  EXPECT_LT(group.median_error, 0.004);       // rounding alone
  EXPECT_NEAR(group.p90_error, 0.04, 0.008);  // 1 - 1 / 1.04, and rounding
  for (const MeasuredPoint& point : curve.points) {
    const Seconds guess = answer(packed.groups[0].curves[0], point.x, 0, gpu.multiprocessors).time;
    EXPECT_NEAR(guess / point.time, 1, 0.05);
  }
}

}  // namespace
}  // namespace roofcast

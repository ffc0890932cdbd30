#include "model/step/roofline.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "base/error.hpp"
#include "model/step/collective.hpp"
#include "model/step/efficiency.hpp"
#include "tests/model/step/step_time_cases.hpp"

namespace roofcast {
namespace {

using test::round_gpu;

/// A GEMM that reads `weights` bytes and does `flops`.
Work gemm(double flops, double weights) {
  Work work;
  work.name = "gemm";
  work.family = OperatorFamily::gemm;
  work.flops = Flops{flops};
  work.bytes = Bytes{weights};
  work.stored_bytes = Bytes{weights};
  work.format = "bf16";
  return work;
}

Curve flat(double share) { return {.points = {{1, share}}, .source = "test"}; }

TEST(Roofline, PhysicalLimitIsTheLargerOfComputeAndMemory) {
  // 1e12 FLOP at 100 TFLOP/s: 10 ms. 1e9 bytes at 1 TB/s: 1 ms.
  EXPECT_DOUBLE_EQ(physical_limit(gemm(1e12, 1e9), round_gpu()).value, 0.010);
  EXPECT_DOUBLE_EQ(physical_limit(gemm(1e9, 1e9), round_gpu()).value, 0.001);
}

TEST(Roofline, ActivationsThatFitTheCacheNeedNotCrossMemory) {
  Gpu gpu = round_gpu();
  gpu.l2_cache = Bytes{40e6};
  Work work = gemm(0, 1e9);
  work.bytes = Bytes{1e9 + 100e6};  // 100 MB of activations, 60 MB more than the cache holds
  EXPECT_DOUBLE_EQ(physical_limit(work, gpu).value, 1.060e-3);
  work.bytes = Bytes{1e9 + 30e6};
  EXPECT_DOUBLE_EQ(physical_limit(work, gpu).value, 1.000e-3);
}

TEST(Roofline, TimeIsFloorPerCallPlusRooflineOverEfficiency) {
  Gpu gpu = round_gpu();
  gpu.efficiencies.gemm["bf16"] = flat(0.5);
  Work work = gemm(1e9, 1e9);
  work.calls = 3;
  const OperatorEstimate result = estimate(work, gpu);
  EXPECT_DOUBLE_EQ(result.time.value, 3 * 4e-6 + 1e-3 / 0.5);
  EXPECT_EQ(result.provenance, Provenance::fitted);
  EXPECT_EQ(result.bound, Bound::memory);
}

TEST(Roofline, NeverBelowPhysicsEvenWithAnImpossibleCurve) {
  Gpu gpu = round_gpu();
  gpu.floors.gemm = Seconds{};
  gpu.efficiencies.gemm["bf16"] = flat(4.0);
  const Work work = gemm(1e9, 1e9);
  EXPECT_DOUBLE_EQ(estimate(work, gpu).time.value, 1e-3);
}

TEST(Roofline, DecodeAtBatchOneIsMemoryBound) {
  // One token against a 4096 x 4096 bf16 matrix: 1 FLOP per byte, the ridge is at 100.
  const double weights = 4096.0 * 4096.0;
  EXPECT_EQ(estimate(gemm(2 * weights, 2 * weights), round_gpu()).bound, Bound::memory);
}

TEST(Roofline, ThousandTokensAreComputeBound) {
  const double weights = 4096.0 * 4096.0;
  EXPECT_EQ(estimate(gemm(2 * weights * 1000, 2 * weights), round_gpu()).bound, Bound::compute);
}

TEST(Roofline, SmallWorkIsBoundByLatency) {
  // 1 KB takes 1 ns of bandwidth and 4 us of floor.
  EXPECT_EQ(estimate(gemm(1, 1e3), round_gpu()).bound, Bound::latency);
}

TEST(Roofline, WithoutACurveTheDefaultIsLessCertain) {
  Gpu fitted = round_gpu();
  fitted.efficiencies.gemm["bf16"] = flat(0.8);
  const OperatorEstimate known = estimate(gemm(1e9, 1e9), fitted);
  const OperatorEstimate unknown = estimate(gemm(1e9, 1e9), round_gpu());
  EXPECT_EQ(unknown.provenance, Provenance::datasheet);
  EXPECT_GT(unknown.relative_uncertainty, known.relative_uncertainty);
}

// Its shares are used all the same, and its source is prose.
TEST(Roofline, AnAssumedCurveIsAsUncertainAsTheDatasheet) {
  Gpu assumed = round_gpu();
  const auto with = [&](double share, const char* source) {
    assumed.efficiencies.gemm["bf16"] = {.points = {{1, share}}, .source = source, .assumed = true};
    return estimate(gemm(1, 1e9), assumed);
  };
  const OperatorEstimate unknown = estimate(gemm(1, 1e9), round_gpu());
  const OperatorEstimate fast = with(0.8, "a table");
  EXPECT_EQ(fast.provenance, Provenance::datasheet);
  EXPECT_EQ(fast.relative_uncertainty, unknown.relative_uncertainty);
  EXPECT_LT(fast.time, with(0.4, "a table").time);
  assumed.efficiencies.gemm["bf16"] = {.points = {{1, 0.8}}, .source = "assumption, in its words"};
  EXPECT_EQ(estimate(gemm(1, 1e9), assumed).provenance, Provenance::fitted);
}

TEST(Roofline, EveryFamilyIsLessCertainWithoutACurve) {
  Gpu fitted = round_gpu();
  fitted.efficiencies = {.gemm = {{"bf16", flat(0.8)}},
                         .moe = {{"bf16", flat(0.8)}},
                         .prefill_attention = flat(0.5),
                         .decode_attention = {{DType::bf16, flat(0.8)}},
                         .memory_bound = flat(0.8),
                         .all_reduce = {{2, {.points = {{1, 1e-5}}, .source = ""}}}};
  for (int family = 0; family < kOperatorFamilies; ++family) {
    Work work = gemm(1e9, 1e9);
    work.family = static_cast<OperatorFamily>(family);
    work.ranks = 2;
    const EfficiencyEstimate known = efficiency_of(work, fitted);
    const EfficiencyEstimate unknown = efficiency_of(work, round_gpu());
    EXPECT_EQ(known.provenance, Provenance::fitted) << name_of(work.family);
    EXPECT_EQ(unknown.provenance, Provenance::datasheet) << name_of(work.family);
    EXPECT_LT(known.relative_uncertainty, unknown.relative_uncertainty) << name_of(work.family);
  }
}

TEST(Roofline, NarrowWeightsWithoutNarrowArithmeticRunAtTheWiderPeak) {
  // The round GPU has no fp8 units: 1e12 FLOP take 10 ms at its bf16 rate.
  Work work = gemm(1e12, 1);
  work.compute = DType::fp8;
  work.format = "fp8";
  work.weight_bits = 8;
  EXPECT_DOUBLE_EQ(physical_limit(work, round_gpu()).value, 0.010);
}

TEST(Roofline, Fp16TakesTheCurveOfBf16) {
  Gpu gpu = round_gpu();
  gpu.efficiencies.gemm["bf16"] = flat(0.5);
  Work work = gemm(1e9, 1e9);
  work.format = "fp16";
  work.compute = DType::fp16;
  EXPECT_EQ(estimate(work, gpu).provenance, Provenance::fitted);
}

TEST(Roofline, ALibrarysOwnCurveComesBeforeAnyones) {
  Gpu gpu = round_gpu();
  gpu.efficiencies.gemm["bf16"] = flat(0.5);
  gpu.efficiencies.gemm["one:bf16"] = flat(0.25);
  Work work = gemm(1e9, 1e9);  // 1 ms at full bandwidth, 4 us of floor
  work.library = "one";
  EXPECT_DOUBLE_EQ(estimate(work, gpu).time.value, 4e-6 + 1e-3 / 0.25);
  work.format = "fp16";
  work.compute = DType::fp16;
  EXPECT_DOUBLE_EQ(estimate(work, gpu).time.value, 4e-6 + 1e-3 / 0.25);
  work.library = "another";
  EXPECT_DOUBLE_EQ(estimate(work, gpu).time.value, 4e-6 + 1e-3 / 0.5);
}

TEST(Roofline, AFormatsCurveInTheArithmeticThatIsUsedComesFirst) {
  Gpu gpu = round_gpu();
  gpu.efficiencies.gemm["mxfp4"] = flat(0.5);
  gpu.efficiencies.gemm["mxfp4 as fp4"] = flat(0.25);
  Work work = gemm(1e9, 1e9);
  work.format = "mxfp4";
  work.weight_bits = 4.25;  // with a scale of 8 bits for 32 weights
  for (const auto& [compute, share] :
       {std::pair{DType::fp4, 0.25}, std::pair{DType::fp8, 0.5}, std::pair{DType::bf16, 0.5}}) {
    work.compute = compute;
    const EfficiencyEstimate found = efficiency_of(work, gpu);
    EXPECT_EQ(found.provenance, Provenance::fitted) << name_of(compute);
    EXPECT_DOUBLE_EQ(found.curve.at(1), share) << name_of(compute);
  }
}

TEST(Roofline, RidgeOfAnA100Is156) {
  // 312 TFLOP/s over 2,000 GB/s.
  Gpu gpu = round_gpu();
  gpu.dense_peak[DType::bf16] = FlopsPerSecond{312e12};
  gpu.memory_bandwidth = BytesPerSecond{2000e9};
  EXPECT_DOUBLE_EQ(ridge_point(gpu, DType::bf16).value, 156.0);
}

TEST(EfficiencyCurve, KeepsThePointsOfAModestCurve) {
  const EfficiencyCurve curve({.points = {{1, 0.8}, {1024, 0.6}}, .source = ""});
  EXPECT_DOUBLE_EQ(curve.at(1), 0.8);
  EXPECT_DOUBLE_EQ(curve.at(32), 0.7);  // log2 32 is half of log2 1024
  EXPECT_DOUBLE_EQ(curve.at(1e6), 0.6);
}

TEST(EfficiencyCurve, MoreWorkNeverTakesLessTime) {
  // Rises sixteenfold while the size only doubles, then again.
  const EfficiencyCurve curve(
      {.points = {{3, 0.05}, {6, 0.8}, {7, 0.1}, {100, 0.11}, {130, 0.9}}, .source = ""});
  double last = 0;
  for (int quarters = 4; quarters < 1600; ++quarters) {
    const double x = quarters / 4.0;
    const double time = x / curve.at(x);
    EXPECT_GE(time, last * (1 - 1e-12)) << x;
    last = time;
  }
}

Work all_reduce(double message, int ranks, std::int64_t calls = 1) {
  Work work;
  work.family = OperatorFamily::collective;
  work.calls = calls;
  work.ranks = ranks;
  work.bytes = Bytes{message * static_cast<double>(calls)};
  work.scale = message;
  return work;
}

TEST(Collective, AScatterSendsWhatAGatherDoes) {
  // Over 4, 3/4 of the message; the wire is the round GPU's.
  const OperatorShape gather{
      .family = OperatorFamily::collective, .ranks = 4, .exchange = Exchange::all_gather};
  OperatorShape scatter = gather;
  scatter.exchange = Exchange::reduce_scatter;
  const Work work = work_of(scatter, 1e6, 0);
  EXPECT_EQ(work.bytes.value, 0.75e6);
  EXPECT_EQ(collective_time(work, round_gpu()),
            collective_time(work_of(gather, 1e6, 0), round_gpu()));
}

TEST(Collective, MeasuredAllReduceIsLinearInBytesBetweenPoints) {
  Gpu gpu = round_gpu();
  gpu.efficiencies.all_reduce[2] = {.points = {{1000, 10e-6}, {3000, 30e-6}}, .source = ""};
  EXPECT_DOUBLE_EQ(estimate(all_reduce(2000, 2), gpu).time.value, 20e-6);
  EXPECT_DOUBLE_EQ(estimate(all_reduce(10, 2), gpu).time.value, 10e-6);
  // Past the last point at its slope of 10 ns per byte: 30 us + 2000 * 10 ns.
  EXPECT_DOUBLE_EQ(estimate(all_reduce(5000, 2), gpu).time.value, 50e-6);
  EXPECT_DOUBLE_EQ(estimate(all_reduce(2000, 2, 7), gpu).time.value, 7 * 20e-6);
}

TEST(Collective, NoisyPointsNeverMakeALargerMessageFaster) {
  Gpu gpu = round_gpu();
  gpu.efficiencies.all_reduce[2] = {
      .points = {{1e3, 9e-6}, {2e3, 7e-6}, {4e3, 8e-6}, {8e3, 9.5e-6}}, .source = ""};
  double last = 0;
  for (int hundreds = 5; hundreds < 200; ++hundreds) {
    const double bytes = 100.0 * hundreds;
    const double time = estimate(all_reduce(bytes, 2), gpu).time.value;
    EXPECT_GE(time, last) << bytes;
    last = time;
  }
}

TEST(Collective, InOnePassEveryRankReadsEveryOthersMessage) {
  Gpu gpu = round_gpu();  // 100 GB/s between GPUs, all-reduces of 5 us at least
  gpu.efficiencies.all_reduce[8] = {.points = {{1, 10e-6}, {1e9, 10e-3}}, .source = ""};
  Work work = all_reduce(1e6, 8, 2);
  work.one_shot = {.link_share = 0.5, .limit = Bytes{2e6}};
  // 5 us + 7 * 1 MB / 50 GB/s = 145 us, where the curve says 20 us.
  EXPECT_NEAR(estimate(work, gpu).time.value, 2 * 145e-6, 1e-12);
  // Past the limit no less than there: 5 us + 7 * 2 MB / 50 GB/s = 285 us.
  work = all_reduce(4e6, 8);
  work.one_shot = {.link_share = 0.5, .limit = Bytes{2e6}};
  EXPECT_NEAR(estimate(work, gpu).time.value, 285e-6, 1e-12);
  gpu.peer.reset();  // no engine does so over PCIe
  EXPECT_EQ(estimate(work, gpu).time, estimate(all_reduce(4e6, 8), gpu).time);
}

TEST(Collective, WithoutMeasurementsARingOverTheLink) {
  // 1 GB over 4 ranks: each sends 2 * 3/4 GB over 100 GB/s, slower for what kernels reach.
  const Seconds time = estimate(all_reduce(1e9, 4), round_gpu()).time;
  EXPECT_GT(time.value, 1.5e9 / 100e9);
  EXPECT_LT(time.value, 2 * 1.5e9 / 100e9);
}

TEST(Collective, BeyondOneNodeTheNetworkIsTheLink) {
  EXPECT_EQ(link_between(round_gpu(), 8).name, "peer");
  EXPECT_EQ(link_between(round_gpu(), 16).name, "net");
}

TEST(Collective, AGpuWithoutLinksIsAnErrorThatNamesTheKey) {
  Gpu gpu = round_gpu();
  gpu.peer.reset();
  gpu.network.reset();
  try {
    estimate(all_reduce(1e6, 2), gpu);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("peer_link"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace roofcast

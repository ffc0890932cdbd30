#include "calibrate/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/cases.hpp"
#include "calibrate/derived_efficiency.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/step_estimate.hpp"
#include "tests/calibrate/fake_backend.hpp"

namespace roofcast {
namespace {

using test::FakeBackend;
using test::FakeDevice;
using testing::HasSubstr;

Deployment gpt2_on(const Gpu& gpu) {
  Deployment d{.model = load_model("gpt2"), .gpu = gpu};
  d.engine = resolve_engine("vllm-0.19", {}, d.model, d.gpu, d.parallel);
  return d;
}

/// The whole calibration on the fake device: cases of gpt2, swept and turned into a profile.
CalibrationData calibrated(FakeBackend& backend) {
  TimingProtocol protocol;
  protocol.warm_up_s = 1e-4;
  CaseLimits limits;
  limits.longest_context = 1024;
  std::vector<std::string> untimed;
  const SweepPlan plan{
      .ceilings = ceiling_cases(backend, 60e9),
      .sentinel = sentinel_case(backend),
      .cases =
          runnable(model_cases(gpt2_on(load_gpu("h200").gpu), backend, limits), backend, untimed)};
  Timer timer(backend, protocol, [](double) {});
  Operands operands(backend, protocol, 60e9);
  const SweepHooks hooks{.now_s = [&backend] { return backend.elapsed_s(); }};
  SweepResult result = run_sweep(timer, operands, plan, {.budget_s = 1e6}, hooks);
  EXPECT_TRUE(result.failed.empty());
  return {.device = backend.facts(),
          .timed = std::move(result.timed),
          .host = {.upload_bandwidth = BytesPerSecond{5e10},
                   .download_bandwidth = BytesPerSecond{4e10}},
          .protocol = protocol,
          .date = "2026-01-31T12:00:00Z",
          .tool = "roofcast 0.1.0"};
}

/// Made once: all tests use the same calibration.
const CalibrationData& data() {
  static const CalibrationData made = [] {
    FakeBackend backend;
    return calibrated(backend);
  }();
  return made;
}

TEST(CeilingsOf, AreTheLargestCopyAndTheFastestProduct) {
  const Ceilings ceilings = ceilings_of(data().timed);
  // 400 MB take 2 us + 400 MB / 4 TB/s = 102 us.
  EXPECT_NEAR(ceilings.copy.value, 400e6 / 102e-6, 1e9);
  EXPECT_NEAR(ceilings.kernel_floor.value, 2e-6, 1e-12);
  // The sentinel: 2 * 4096^3 FLOPs take 2 us + 343.6 us.
  EXPECT_NEAR(ceilings.gemm.at(DType::bf16).value, 2.0 * 4096 * 4096 * 4096 / 345.6e-6, 1e11);
  EXPECT_GT(ceilings.read.value, 3e12);
  EXPECT_LT(ceilings.read.value, 4e12);
}

TEST(MakeProfile, ADeviceThatNobodyDescribedGetsItsCeilingsAsLimits) {
  const Gpu gpu = make_profile(data(), nullptr);
  EXPECT_EQ(gpu.name, "fake-accelerator-80gb");
  EXPECT_EQ(gpu.compute_capability, "9.0");
  EXPECT_EQ(gpu.multiprocessors, 100);
  const Ceilings ceilings = ceilings_of(data().timed);
  EXPECT_EQ(gpu.memory_bandwidth, std::max(ceilings.copy, ceilings.read));
  EXPECT_EQ(gpu.dense_peak.at(DType::bf16), ceilings.gemm.at(DType::bf16));
  EXPECT_THAT(gpu.sources.at("memory_bandwidth_bytes_per_s"), HasSubstr("measured 2026-01-31"));
  EXPECT_THAT(gpu.sources.at("dense_peak_flops_per_s"), HasSubstr("measured"));
  EXPECT_THAT(gpu.sources.at("dense_peak_flops_per_s.fp32"), HasSubstr("assumption"));
}

TEST(MakeProfile, AKnownGpuKeepsItsDatasheet) {
  const Gpu h200 = load_gpu("h200").gpu;
  const Gpu gpu = make_profile(data(), &h200);
  EXPECT_EQ(gpu.name, "nvidia-h200-sxm");
  EXPECT_EQ(gpu.memory_bandwidth, h200.memory_bandwidth);
  EXPECT_EQ(gpu.dense_peak, h200.dense_peak);
  EXPECT_EQ(gpu.sources.at("memory_bandwidth_bytes_per_s"),
            h200.sources.at("memory_bandwidth_bytes_per_s"));
  EXPECT_THAT(gpu.sources.at("floors_s.gemm"), HasSubstr("calibrated 2026-01-31"));
  // What was not timed keeps what was known.
  EXPECT_EQ(gpu.efficiencies.gemm.at("fp8").source, h200.efficiencies.gemm.at("fp8").source);
  EXPECT_THAT(gpu.efficiencies.gemm.at("bf16").source, HasSubstr("calibrated"));
  EXPECT_EQ(gpu.efficiencies.all_reduce.size(), h200.efficiencies.all_reduce.size());
}

TEST(MakeProfile, SaysWhereItComesFrom) {
  const Measured measured = *make_profile(data(), nullptr).measured;
  EXPECT_EQ(measured.device, "Fake Accelerator 80GB");
  EXPECT_EQ(measured.identity, "FAKE-0001");
  EXPECT_EQ(measured.tool, "roofcast 0.1.0");
  EXPECT_THAT(measured.protocol, HasSubstr("rotated over 3 times the last-level cache"));
  ASSERT_EQ(measured.versions.size(), 1u);
  EXPECT_EQ(measured.versions[0].first, "driver");
  EXPECT_EQ(measured.clock_hz, 1.8e9);
  EXPECT_EQ(measured.dropped_samples, 0);
  EXPECT_EQ(measured.upload_bandwidth.value, 5e10);
  EXPECT_TRUE(measured.rejected.empty());
}

TEST(MakeProfile, WhatTheDeviceSaysItCannotDoIsRejected) {
  CalibrationData faster = data();
  faster.device.peak_bandwidth_bytes_per_s = 1e12;  // a quarter of what it did
  faster.device.peak_flops_per_s = {{kernels::Element::bf16, 400e12}};
  const Gpu gpu = make_profile(faster, nullptr);
  EXPECT_FALSE(gpu.measured->rejected.empty());
}

TEST(MakeProfile, AStepIsAnsweredFromIt) {
  const Deployment deployment = gpt2_on(make_profile(data(), nullptr));
  const StepEstimate step =
      RooflineStepTime(deployment).explain(decode_batch(deployment.model, 8, 500));
  double matrices_s = 0;
  for (const OperatorEstimate& op : step.operators) {
    EXPECT_LE(op.provenance, Provenance::extended) << op.work.name;
    if (op.work.family == OperatorFamily::gemm) matrices_s += op.time.value;
  }
  // Weights of a layer are 12 * 768^2 * 2 bytes = 14.2 MB, four launches; the LM head 77.2 MB, one;
  // all at 4 TB/s and 2 us. Inputs from the cache are below 0.1 us each.
  const double layer_s = 4 * 2e-6 + 12.0 * 768 * 768 * 2 / 4e12;
  const double head_s = 2e-6 + 50257.0 * 768 * 2 / 4e12;
  EXPECT_NEAR(matrices_s, 12 * layer_s + head_s, 49 * 0.1e-6);
}

TEST(DerivedEfficiency, IsTheShareOfTheLimitNetOfTheFloor) {
  Gpu gpu;
  gpu.memory_bandwidth = BytesPerSecond{4e12};
  gpu.dense_peak[DType::bf16] = FlopsPerSecond{800e12};
  gpu.dense_peak[DType::fp32] = FlopsPerSecond{60e12};
  gpu.l2_cache = Bytes{50e6};
  // One row of 8192 x 8192: 134 MB take 33.6 us; at half the bandwidth and 5 us of floor 72.1 us.
  const double limit_s = 8192.0 * 8192 * 2 / 4e12;
  MeasuredCurve curve{
      .shape = {.family = OperatorFamily::gemm, .format = "bf16", .outputs = 8192, .inputs = 8192},
      .kernel = "fake",
      .terms = {.floor = Seconds{5e-6}, .seconds_per_byte = 1.0 / 2e12},
      .points = {{.x = 1, .time = Seconds{5e-6 + 2 * limit_s}, .samples = 10}}};
  Measured measured;
  measured.curves = {curve};
  const Floors floors = derive_floors(measured, {});
  EXPECT_DOUBLE_EQ(floors.gemm.value, 5e-6);
  EXPECT_EQ(floors.attention, Floors{}.attention);
  const Efficiencies derived = derive_efficiencies(gpu, measured, floors, "here");
  ASSERT_EQ(derived.gemm.size(), 1u);
  ASSERT_EQ(derived.gemm.at("bf16").points.size(), 1u);
  // The inputs and outputs of 16 kB each that stay in the cache count half: within 0.1 %.
  EXPECT_NEAR(derived.gemm.at("bf16").points[0].y, 0.5, 0.0005);
  EXPECT_FALSE(derived.prefill_attention.has_value());
}

TEST(DerivedEfficiency, AFloorIsBelowTheShortestTime) {
  MeasuredCurve curve{.shape = {.family = OperatorFamily::memory_bound, .name = "norms"},
                      .terms = {.floor = Seconds{9e-6}},
                      .points = {{.x = 1e6, .time = Seconds{4e-6}}}};
  Measured measured;
  measured.curves = {curve};
  EXPECT_DOUBLE_EQ(derive_floors(measured, {}).memory_bound.value, 3.6e-6);
}

TEST(Ceilings, AnEmptyCallIsNoShorterThanProfilesTake) {
  const TimedCase nothing{.c = {.kind = CaseKind::nothing},
                          .timing = {.statistics = {.count = 3, .median = 4e-10}}};
  EXPECT_EQ(ceilings_of({nothing}).kernel_floor, Seconds{1e-9});
}

TEST(CheckRatios, CompareUnevenWithEvenBatches) {
  CalibrationCase even{
      .kind = CaseKind::decode_attention,
      .shape = {.family = OperatorFamily::decode_attention, .query_heads = 8, .kv_heads = 1},
      .x = 8,
      .y = 512,
      .kernel = "fake"};
  CalibrationCase uneven = even;
  uneven.role = CaseRole::check;
  std::vector<TimedCase> timed(2);
  timed[0].c = uneven;
  timed[0].timing.statistics.median = 11e-6;
  timed[1].c = even;
  timed[1].timing.statistics.median = 10e-6;
  const std::vector<CheckRatio> ratios = check_ratios(timed);
  ASSERT_EQ(ratios.size(), 1u);
  EXPECT_NEAR(ratios[0].ratio, 1.1, 1e-12);
}

TEST(ProfileName, IsTheDevicesInLowerCase) {
  kernels::DeviceFacts gpu;
  gpu.name = "NVIDIA H200";
  gpu.architecture = "sm_90";
  EXPECT_EQ(profile_name(gpu), "nvidia-h200");
  gpu.name = "";
  EXPECT_EQ(profile_name(gpu), "device");
  kernels::DeviceFacts cpu;
  cpu.name = "AMD EPYC 9654 (Zen 4)";
  cpu.architecture = "avx512_bf16";
  cpu.multiprocessors = 2;
  EXPECT_EQ(profile_name(cpu), "amd-epyc-9654-zen-4-2-threads");
}

}  // namespace
}  // namespace roofcast

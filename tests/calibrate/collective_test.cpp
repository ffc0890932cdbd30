// Collectives over several fake devices: which are timed, which part of a message each rank holds,
// and how estimates use the curves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "calibrate/case_grid.hpp"
#include "calibrate/collective_cases.hpp"
#include "calibrate/collective_timer.hpp"
#include "calibrate/extent.hpp"
#include "calibrate/profile.hpp"
#include "calibrate/sweep.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/step_estimate.hpp"
#include "tests/calibrate/fake_backend.hpp"
#include "tests/calibrate/fake_group.hpp"

namespace roofcast {
namespace {

using kernels::CollectiveKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr CaseLimits kLimits{.message_bytes = 256 * kMiB};

CalibrationCase collective(Exchange exchange, int ranks, double bytes) {
  return {.kind = CaseKind::collective,
          .shape = {.family = OperatorFamily::collective, .ranks = ranks, .exchange = exchange},
          .x = bytes,
          .kernel = "NCCL 9.9.9"};
}

TEST(CollectiveCases, RanksArePowersOfTwoAndAllThatThereAre) {
  EXPECT_THAT(rank_counts(1), IsEmpty());
  EXPECT_THAT(rank_counts(2), ElementsAre(2));
  EXPECT_THAT(rank_counts(3), ElementsAre(2, 3));
  EXPECT_THAT(rank_counts(6), ElementsAre(2, 4, 6));
  EXPECT_THAT(rank_counts(8), ElementsAre(2, 4, 8));
}

TEST(CollectiveCases, MessagesGoFrom4KiBTo256MiBInPowersOfTwo) {
  const auto axis = message_axis(std::int64_t{1} << 28, 1);
  ASSERT_EQ(axis.size(), 17U);  // 2^12 to 2^28
  for (std::size_t i = 0; i < axis.size(); ++i) EXPECT_EQ(axis[i].value, std::int64_t{4096} << i);
  // Every third is coarse, and the last.
  EXPECT_EQ(std::count_if(axis.begin(), axis.end(), [](const AxisPoint& p) { return p.pass == 0; }),
            7);
  EXPECT_EQ(axis.back().pass, 0);
}

TEST(CollectiveCases, AQuickLookTimesTheFewestSizes) {
  const auto axis = message_axis(std::int64_t{1} << 28, 4);  // 4 KiB, 64 KiB, 1, 16 and 256 MiB
  ASSERT_EQ(axis.size(), 5U);
  for (const AxisPoint& point : axis) EXPECT_EQ(point.pass, 0);
  kernels::DeviceFacts gpu;
  gpu.architecture = "sm_90";
  gpu.free_memory_bytes = std::int64_t{80} << 30;
  EXPECT_EQ(extent_of(ExtentKind::quick, gpu, 8192).limits.message_octaves, 4);
  EXPECT_EQ(extent_of(ExtentKind::model, gpu, 8192).limits.message_octaves, 1);
  EXPECT_EQ(extent_of(ExtentKind::model, gpu, 8192).limits.message_bytes, 256 * kMiB);
  // 16 GiB free, 0.8 of it for operands, a 64th of that: 205 MiB, so that 128 MiB is the largest.
  gpu.free_memory_bytes = std::int64_t{16} << 30;
  EXPECT_NEAR(extent_of(ExtentKind::model, gpu, 8192).limits.message_bytes, 204.8 * kMiB, 1);
  gpu.architecture = "avx512";
  EXPECT_EQ(extent_of(ExtentKind::model, gpu, 8192).limits.message_bytes, 0);
}

TEST(CollectiveCases, EveryExchangeOverEveryNumberOfRanks) {
  const auto cases = collective_cases(test::fake_peers(), kLimits);
  EXPECT_EQ(cases.size(), 3U * 4 * 17);
  std::set<std::string> names;
  for (const CalibrationCase& c : cases) {
    EXPECT_EQ(c.kernel, "NCCL 9.9.9");
    EXPECT_EQ(family_of(c), "collective");
    names.insert(name_of(c));
  }
  EXPECT_EQ(names.size(), cases.size());
  EXPECT_TRUE(names.contains("reduce_scatter bf16 ranks=8 bytes=4096 [NCCL 9.9.9]"));
  EXPECT_TRUE(std::is_sorted(
      cases.begin(), cases.end(),
      [](const CalibrationCase& a, const CalibrationCase& b) { return a.pass < b.pass; }));
}

TEST(CollectiveCases, WithoutPeersOrTheirLibraryThereAreNone) {
  EXPECT_THAT(collective_cases({}, kLimits), IsEmpty());
  EXPECT_THAT(collective_cases(test::fake_peers({.devices = 1}), kLimits), IsEmpty());
  kernels::Peers silent = test::fake_peers();
  silent.library.clear();
  EXPECT_THAT(collective_cases(silent, kLimits), IsEmpty());
}

TEST(CollectiveCases, AMessageForSixIsCutIntoWholeVectors) {
  for (const CalibrationCase& c : collective_cases(test::fake_peers({.devices = 6}), kLimits)) {
    if (c.shape.ranks != 6) continue;
    const auto bytes = static_cast<std::int64_t>(c.x);
    // 4096 = 42 * 96 + 64: 4032 bytes, 672 a rank. An all-reduce is not cut.
    const bool cut = c.shape.exchange != Exchange::all_reduce;
    EXPECT_EQ(bytes % (cut ? 96 : 4096), 0) << name_of(c);
    if (bytes <= 4096) {
      EXPECT_EQ(bytes, cut ? 4032 : 4096);
    }
    const RankBytes held = rank_bytes(collective_of(c), 6);
    EXPECT_EQ(std::max(held.input, held.output), c.x) << name_of(c);
  }
}

TEST(CollectiveCases, TheMessageIsWhatTheModelCountsAsOne) {
  // 1 MiB over 4 ranks in bf16: 524,288 elements, 131,072 a part.
  const auto held = [](Exchange exchange) {
    const kernels::Collective call = collective_of(collective(exchange, 4, kMiB));
    const RankBytes bytes = rank_bytes(call, 4);
    return std::tuple(call.kind, call.count, bytes.input, bytes.output);
  };
  // Every rank holds the whole message before and after.
  EXPECT_EQ(held(Exchange::all_reduce), std::tuple(CollectiveKind::all_reduce, 524288, kMiB, kMiB));
  // The gathered result is the message.
  EXPECT_EQ(held(Exchange::all_gather),
            std::tuple(CollectiveKind::all_gather, 131072, kMiB / 4, kMiB));
  // What a rank holds before is the message.
  EXPECT_EQ(held(Exchange::reduce_scatter),
            std::tuple(CollectiveKind::reduce_scatter, 131072, kMiB, kMiB / 4));
  EXPECT_EQ(held(Exchange::all_to_all), std::tuple(CollectiveKind::all_to_all, 131072, kMiB, kMiB));
}

class CollectiveTimerTest : public testing::Test {
 protected:
  CollectiveTimer timer(const test::FakeLinks& links = {}) {
    return {test::fake_peers(links, log), {}, kMiB, [](double) {}};
  }
  std::shared_ptr<test::GroupLog> log = std::make_shared<test::GroupLog>();
};

TEST_F(CollectiveTimerTest, ACallTakesWhatTheDevicesTake) {
  CollectiveTimer own = timer();
  const auto median = [&](Exchange exchange, int ranks) {
    return own.time(collective(exchange, ranks, kMiB)).statistics.median;
  };
  // Latency, and of 1 MiB 3/2, 3/4, 3/4, 3/4 and 7/4 at 300 GB/s.
  const double whole = kMiB / 300e9;
  EXPECT_NEAR(median(Exchange::all_reduce, 4), 10e-6 + 1.5 * whole, 1e-12);
  EXPECT_NEAR(median(Exchange::all_gather, 4), 10e-6 + 0.75 * whole, 1e-12);
  EXPECT_NEAR(median(Exchange::reduce_scatter, 4), 10e-6 + 0.75 * whole, 1e-12);
  EXPECT_NEAR(median(Exchange::all_to_all, 4), 10e-6 + 0.75 * whole, 1e-12);
  EXPECT_NEAR(median(Exchange::all_reduce, 8), 10e-6 + 1.75 * whole, 1e-12);
}

TEST_F(CollectiveTimerTest, EveryRankHasRandomInputAndAnOutputOfItsOwn) {
  timer().time(collective(Exchange::all_to_all, 4, kMiB));
  ASSERT_FALSE(log->calls.empty());
  for (const kernels::Collective& call : log->calls) {
    ASSERT_EQ(call.buffers.size(), 4U);
    for (int rank = 0; rank < 4; ++rank) {
      const auto& [input, output] = call.buffers[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(log->filled.contains({rank, input}));
      EXPECT_NE(input, output);
      EXPECT_EQ((log->memory.at({rank, const_cast<void*>(input)})), kMiB);
      EXPECT_EQ((log->memory.at({rank, output})), kMiB);
    }
  }
}

TEST_F(CollectiveTimerTest, AGroupIsOpenedOnceAndWhenItIsWanted) {
  CollectiveTimer own = timer();
  EXPECT_THAT(log->opened, IsEmpty());
  for (const Exchange exchange : {Exchange::all_reduce, Exchange::all_to_all}) {
    for (const int ranks : {2, 8}) own.time(collective(exchange, ranks, 4096));
  }
  EXPECT_THAT(log->opened, ElementsAre(2, 8));
}

TEST_F(CollectiveTimerTest, AGroupThatDoesNotOpenIsNotTriedAgain) {
  CollectiveTimer own = timer({.refused = {4}});
  EXPECT_THROW(own.time(collective(Exchange::all_reduce, 4, 4096)), std::runtime_error);
  try {
    own.time(collective(Exchange::all_gather, 4, 4096));
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no such group"));
  }
  EXPECT_THAT(log->opened, ElementsAre(4));
  EXPECT_GT(own.time(collective(Exchange::all_reduce, 2, 4096)).statistics.median, 0);
}

/// A sweep of two products and all collectives.
class CollectiveSweepTest : public testing::Test {
 protected:
  SweepResult run(const test::FakeLinks& links, double collective_budget_s = 1e6) {
    const TimingProtocol protocol{.warm_up_s = 1e-4};
    const CalibrationCase product{.kind = CaseKind::gemm,
                                  .shape = {.family = OperatorFamily::gemm,
                                            .format = "bf16",
                                            .outputs = 4096,
                                            .inputs = 4096},
                                  .x = 64,
                                  .kernel = "fake 1.0"};
    const SweepPlan plan{.ceilings = ceiling_cases(backend, 60e9),
                         .sentinel = sentinel_case(backend),
                         .cases = {product},
                         .collectives = collective_cases(test::fake_peers(links), kLimits)};
    Timer timer(backend, protocol, [](double) {});
    Operands operands(backend, protocol, 60e9);
    CollectiveTimer collectives(test::fake_peers(links), protocol, kLimits.message_bytes,
                                [](double) {});
    const SweepOptions options{.budget_s = 1e6, .collective_budget_s = collective_budget_s};
    return run_sweep(timer, operands, plan, options, {.now_s = [this] { return looks_ += 1e-3; }},
                     &collectives);
  }

  static std::int64_t collectives_in(const SweepResult& result) {
    return std::count_if(result.timed.begin(), result.timed.end(),
                         [](const TimedCase& t) { return t.c.kind == CaseKind::collective; });
  }

  Gpu profile_of(SweepResult result) const {
    return make_profile({.device = backend.facts(),
                         .devices = 8,
                         .timed = std::move(result.timed),
                         .date = "2026-01-31T12:00:00Z",
                         .tool = "roofcast 0.1.0"},
                        nullptr);
  }

  test::FakeBackend backend;

 private:
  double looks_ = 0;  // every look at the clock takes a millisecond
};

TEST_F(CollectiveSweepTest, ComeBehindTheOthersAndAllAreTimed) {
  const SweepResult result = run({});
  EXPECT_EQ(result.end, SweepEnd::complete);
  EXPECT_EQ(collectives_in(result), 3 * 4 * 17);
  const auto first = std::find_if(result.timed.begin(), result.timed.end(), [](const TimedCase& t) {
    return t.c.kind == CaseKind::collective;
  });
  EXPECT_EQ((first - 1)->c.kind, CaseKind::gemm);
}

TEST_F(CollectiveSweepTest, HaveABudgetOfTheirOwn) {
  const SweepResult result = run({}, 0.05);  // of some ms a case
  EXPECT_EQ(result.end, SweepEnd::out_of_time);
  EXPECT_GT(collectives_in(result), 0);
  EXPECT_EQ(collectives_in(result) + result.not_reached, 3 * 4 * 17);
}

TEST_F(CollectiveSweepTest, AGroupThatFailsLeavesTheOthers) {
  const SweepResult result = run({.failing = {4}});
  EXPECT_EQ(result.end, SweepEnd::complete);
  EXPECT_EQ(collectives_in(result), 2 * 4 * 17);
  ASSERT_EQ(result.failed.size(), 4U * 17);
  EXPECT_THAT(result.failed.front(), HasSubstr("ranks=4"));
  EXPECT_THAT(result.failed.front(), HasSubstr("cable pulled"));
}

TEST_F(CollectiveSweepTest, TheProfileHasACurveForEachAndALinkOfWhatWasSeen) {
  const Gpu written = profile_of(run({}));
  const Gpu gpu = parse_profile(write_gpu(written), "profile.json").gpu;
  std::int64_t curves = 0;
  for (const MeasuredCurve& curve : gpu.measured->curves) {
    if (curve.shape.family != OperatorFamily::collective) continue;
    ++curves;
    EXPECT_EQ(curve.kernel, "NCCL 9.9.9");
    EXPECT_EQ(curve.points.size(), 17U);
    EXPECT_LT(curve.p90_error, 1e-6);  // the fake follows the base
    EXPECT_NEAR(curve.terms.floor.value, 10e-6, 1e-9);
  }
  EXPECT_EQ(curves, 12);
  EXPECT_EQ(gpu.gpus_per_node, 8);
  // The largest message that goes round most often: 256 MiB all-reduced by 8, 7/4 of it sent. The
  // shortest call: 4 KiB over 2, half of it sent.
  ASSERT_TRUE(gpu.peer.has_value());
  const double sent = 1.75 * 256 * kMiB;
  EXPECT_NEAR(gpu.peer->bandwidth.value, sent / (10e-6 + sent / 300e9), 1e3);
  EXPECT_NEAR(gpu.peer->latency.value, 10e-6 + 2048 / 300e9, 1e-12);
  EXPECT_THAT(gpu.measured->protocol, HasSubstr("collectives: "));
}

TEST_F(CollectiveSweepTest, AStepIsAnsweredFromTheCurves) {
  Deployment d{.model = load_model("llama-3.1-8b"), .gpu = profile_of(run({}))};
  d.parallel.tensor = 4;
  d.engine = resolve_engine("vllm-0.19", {}, d.model, d.gpu, d.parallel);
  const StepEstimate step = RooflineStepTime(d).explain(decode_batch(d.model, 64, 1000));
  const auto reduce =
      std::find_if(step.operators.begin(), step.operators.end(),
                   [](const OperatorEstimate& op) { return op.work.name == "all_reduce"; });
  ASSERT_NE(reduce, step.operators.end());
  EXPECT_EQ(reduce->provenance, Provenance::measured);
  // 64 rows of 4096 in bf16 are 512 KiB, a timed size; two a layer, and one behind the embedding.
  // What ranks wait for each other in serving comes on top of each.
  const double skew = d.engine.host.rank_skew.value;
  EXPECT_NEAR(reduce->time.value, 65 * (10e-6 + 1.5 * 524288 / 300e9 + skew), 1e-9);
}

}  // namespace
}  // namespace roofcast

#include "model/step/carried_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/statistics.hpp"
#include "model/curves/kernel_tables.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/measured_time.hpp"
#include "model/step/step_estimate.hpp"
#include "tests/model/step/step_time_cases.hpp"

namespace roofcast {
namespace {

/// 100 TFLOP/s and 1 TB/s at 2 GHz.
Gpu timed_card() {
  Gpu gpu = test::round_gpu();
  gpu.boost_clock_hz = 2e9;
  return gpu;
}

/// Half its clock and rate, 0.8 TB/s.
Gpu slower_card() {
  Gpu gpu = timed_card();
  gpu.boost_clock_hz = 1e9;
  gpu.memory_bandwidth = BytesPerSecond{0.8e12};
  gpu.dense_peak[DType::bf16] = FlopsPerSecond{50e12};
  return gpu;
}

TEST(CarriedTime, FollowsThePhysicalLimits) {
  const SisterCard from = sister_card(timed_card());
  const Gpu to = slower_card();
  // Bound by memory on both: 1 / 0.8.
  EXPECT_DOUBLE_EQ(transferred_ratio({.flops = Flops{1e9}, .bytes = Bytes{1e9}}, from, to), 1.25);
  // Bound by arithmetic on both: 100 / 50.
  EXPECT_DOUBLE_EQ(transferred_ratio({.flops = Flops{1e14}, .bytes = Bytes{1e9}}, from, to), 2);
  // 0.8 s of arithmetic beside 1 s of memory there; 1.6 s beside 1.25 s here.
  EXPECT_DOUBLE_EQ(transferred_ratio({.flops = Flops{8e13}, .bytes = Bytes{1e12}}, from, to), 1.6);
}

// The two pairs that fix the slope. H200's memory is 4.8 / 3.35 = 1.433 times as fast as H100's,
// ln 0.360, so sqrt(0.074^2 + 0.144^2) = 0.162, between the 0.142 and 0.177 that two thirds of the
// points were within; L40S to RTX PRO 6000 is 1.792 / 0.864 = 2.074, ln 0.730: 0.301, measured
// 0.302.
TEST(CarriedTime, AreLessSureTheMoreTheMemoriesDiffer) {
  const auto deviation = [](const char* from, const char* to) {
    SisterCard sister = sister_card(load_gpu(from).gpu);
    sister.same_chip = true;
    return carried_deviation(sister, load_gpu(to).gpu.memory_bandwidth);
  };
  EXPECT_NEAR(deviation("h100", "h200"), 0.162, 5e-4);
  EXPECT_NEAR(deviation("h200", "h100"), 0.162, 5e-4);
  EXPECT_NEAR(deviation("l40s", "rtx-pro-6000"), 0.301, 5e-4);
  EXPECT_DOUBLE_EQ(deviation("h100", "h800"), 0.074);
  EXPECT_NEAR(deviation("b200", "b300"), 0.074, 5e-4);       // 7.75 / 7.7
  EXPECT_NEAR(deviation("h100", "h100-pcie"), 0.219, 5e-4);  // 0.4 ln(3.35 / 2) = 0.206
  EXPECT_NEAR(deviation("a100-sxm-80gb", "a100-sxm-40gb"), 0.131, 5e-4);  // 0.4 ln 1.311 = 0.108
  SisterCard stranger = sister_card(load_gpu("h100").gpu);
  stranger.same_chip = false;
  EXPECT_DOUBLE_EQ(carried_deviation(stranger, stranger.memory_bandwidth), kOtherChipDeviation);
}

TEST(CarriedTime, FixedTimesFollowTheClockAndNeverFall) {
  EXPECT_DOUBLE_EQ(transferred_fixed(sister_card(timed_card()), slower_card()), 2);
  EXPECT_DOUBLE_EQ(transferred_fixed(sister_card(slower_card()), timed_card()), 1);
}

TEST(CarriedTime, APointIsItsFixedTimeAndTheRestEachScaledAndNoLongerMeasured) {
  // A product of 1024 x 1024 on one token, timed at 5 us, 1 us of it fixed: 2.1 MB and 2.1 MFLOP,
  // bound by memory. On the slower card 1 us x 2 + 4 us x 1.25 = 7 us.
  const OperatorShape shape{
      .family = OperatorFamily::gemm, .format = "bf16", .outputs = 1024, .inputs = 1024};
  const MeasuredCurve curve{.shape = shape,
                            .kernel = "a kernel, vLLM 0.24.0",
                            .terms = {.floor = Seconds{1e-6}, .seconds_per_byte = 2e-12},
                            .points = {{.x = 1, .time = Seconds{5e-6}, .samples = 1}}};
  KernelTables::Contents contents;
  contents.groups = {{.source = "vLLM 0.24.0", .key = group_key(shape)}};
  contents.unpack = [curve](std::size_t) { return curve_group({curve}); };
  Gpu timed = timed_card();
  timed.tables = std::make_shared<KernelTables>("invented", [contents] { return contents; });
  Gpu slower = slower_card();
  carry_over(timed, slower);

  const auto theirs = measured_times(timed, shape, {}, "vllm-0.24");
  const auto own = measured_times(slower, shape, {}, "vllm-0.24");
  ASSERT_TRUE(theirs && own);
  EXPECT_NEAR(theirs->at(1, 0).value, 5e-6, 1e-15);
  EXPECT_NEAR(own->at(1, 0).value, 7e-6, 1e-15);
  EXPECT_EQ(theirs->explain(1, 0).provenance, Provenance::measured);
  EXPECT_EQ(own->explain(1, 0).provenance, Provenance::extended);
  // 0.074 between memories as fast, and 0.4 ln(0.8) for a memory of 0.8 the bandwidth.
  EXPECT_NEAR(own->explain(1, 0).relative_uncertainty, std::hypot(0.074, 0.4 * std::log(0.8)),
              1e-12);
  slower.sister->same_chip = false;
  const auto other = measured_times(slower, shape, {}, "vllm-0.24");
  ASSERT_TRUE(other);
  EXPECT_NEAR(other->at(1, 0).value, 7e-6, 1e-15);
  EXPECT_DOUBLE_EQ(other->explain(1, 0).relative_uncertainty, kOtherChipDeviation);
}

TEST(CarriedTime, FixedTimesOfABatchOfPromptsFollowTheClock) {
  // Four prompts of 64 tokens take 7 us together and 1 + 4 x 3 = 13 us one by one, 1 us of each
  // fixed. At half the clock and the same rates 2 + 6 = 8 us and 2 + 4 x 3 = 14 us.
  const MeasuredCurve one{.shape = {.family = OperatorFamily::prefill_attention,
                                    .format = "bf16",
                                    .query_heads = 8,
                                    .kv_heads = 8,
                                    .head_dim = 128},
                          .kernel = "a kernel, vLLM 0.24.0",
                          .terms = {.floor = Seconds{1e-6}},
                          .points = {{.x = 64, .time = Seconds{4e-6}, .samples = 1}}};
  MeasuredCurve four = one;
  four.shape.prompts = 4;
  four.points[0].time = Seconds{7e-6};
  KernelTables::Contents contents;
  contents.groups = {{.source = "vLLM 0.24.0", .key = group_key(one.shape)}};
  contents.unpack = [one, four](std::size_t) { return curve_group({one, four}); };
  Gpu timed = timed_card();
  timed.tables = std::make_shared<KernelTables>("invented", [contents] { return contents; });
  Gpu slower = timed_card();
  slower.boost_clock_hz = 1e9;
  carry_over(timed, slower);
  const auto theirs = measured_times(timed, one.shape, {}, "vllm-0.24");
  const auto own = measured_times(slower, one.shape, {}, "vllm-0.24");
  ASSERT_TRUE(theirs && own);
  EXPECT_NEAR(theirs->batch_ratio(4, 64, 0), 7.0 / 13, 1e-9);
  EXPECT_NEAR(own->batch_ratio(4, 64, 0), 8.0 / 14, 1e-9);
}

TEST(CarriedTime, AllReducesCarryOverBetweenLinksOfOneKindOnly) {
  // 10 us for the smallest message, 30 us for another: over half the bandwidth 10 + 20 x 2.
  Gpu timed = timed_card();
  timed.efficiencies.all_reduce[2] = {.points = {{1e3, 10e-6}, {1e6, 30e-6}}, .source = "invented"};
  Gpu slower = slower_card();
  slower.peer->bandwidth = BytesPerSecond{50e9};
  carry_over(timed, slower);
  EXPECT_NEAR(slower.efficiencies.all_reduce.at(2).points[0].y, 10e-6, 1e-15);
  EXPECT_NEAR(slower.efficiencies.all_reduce.at(2).points[1].y, 50e-6, 1e-15);
  Gpu other = slower_card();
  other.peer->name = "another link";
  carry_over(timed, other);
  EXPECT_TRUE(other.efficiencies.all_reduce.empty());
  EXPECT_FALSE(carries_over(other, OperatorFamily::collective));
  EXPECT_TRUE(carries_over(other, OperatorFamily::gemm));
}

// ---- the built-in profiles

/// The card on which the curves of a card's chip were timed.
const std::string& root_of(const Gpu& gpu) { return gpu.sister ? gpu.sister->name : gpu.name; }

/// Whether no figure of `a` that times depend on is better than that of `b`.
bool is_slower_on_paper(const Gpu& a, const Gpu& b) {
  const bool peaks = std::ranges::all_of(
      a.dense_peak, [&](const auto& peak) { return peak.second <= b.peak_for(peak.first); });
  const bool links = !a.peer || !b.peer || a.peer->bandwidth <= b.peer->bandwidth;
  return peaks && links && a.memory_bandwidth <= b.memory_bandwidth &&
         a.boost_clock_hz <= b.boost_clock_hz && a.l2_cache <= b.l2_cache;
}

StepBatch batch_of(const Transformer& model, std::int64_t decodes, std::int64_t context,
                   std::int64_t prompt) {
  StepBatch batch = decodes > 0 ? decode_batch(model, decodes, context) : StepBatch{};
  if (prompt > 0) batch.prefills.push_back({.new_tokens = prompt, .context_tokens = 0});
  return batch;
}

struct Pair {
  std::string slower{};
  std::string faster{};
};

std::vector<Pair> ordered_pairs() {
  std::vector<Pair> pairs;
  for (const std::string& a : gpu_names()) {
    for (const std::string& b : gpu_names()) {
      const Gpu one = load_gpu(a).gpu, other = load_gpu(b).gpu;
      if (a == b || root_of(one) != root_of(other)) continue;
      if (is_slower_on_paper(one, other)) pairs.push_back({a, b});
    }
  }
  return pairs;
}

TEST(SisterCards, AreOrderedAsTheirDatasheetsAre) {
  const std::vector<Pair> pairs = ordered_pairs();
  // Every card that carries curves over from a better one is in a pair.
  EXPECT_GE(pairs.size(), 8U);
  for (const char* model_name : {"llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v2-lite"}) {
    const Transformer model = load_model(model_name);
    for (const Pair& pair : pairs) {
      for (const char* engine : {"vllm-0.19", "trtllm-1.0"}) {
        for (const int tensor : {1, 2}) {
          const auto step_time = [&](const std::string& name) {
            Deployment deployment = test::deployment_of(model, load_gpu(name).gpu);
            deployment.gpu.host.reset();  // hosts are not ordered as their GPUs are
            deployment.parallel.tensor = tensor;
            deployment.engine =
                resolve_engine(engine, {}, deployment.model, deployment.gpu, deployment.parallel);
            return RooflineStepTime(deployment);
          };
          // It has no kernels for AMD's GPUs.
          const bool amd = load_gpu(pair.slower).gpu.vendor == "AMD";
          if (amd && std::string_view(engine).starts_with("trtllm")) continue;
          if (tensor > 1 && (!load_gpu(pair.slower).gpu.peer || !load_gpu(pair.faster).gpu.peer)) {
            continue;
          }
          const RooflineStepTime slower = step_time(pair.slower), faster = step_time(pair.faster);
          for (const std::int64_t decodes : {0, 1, 16, 256}) {
            for (const std::int64_t context : {256, 8192}) {
              for (const std::int64_t prompt : {0, 512, 4096}) {
                if (decodes + prompt == 0) continue;
                const StepBatch batch = batch_of(model, decodes, context, prompt);
                EXPECT_GE(slower.seconds(batch).value * (1 + 1e-12), faster.seconds(batch).value)
                    << pair.slower << " beside " << pair.faster << ", " << model_name << ", "
                    << engine << " TP" << tensor << ", " << decodes << " x " << context << " + "
                    << prompt;
              }
            }
          }
        }
      }
    }
  }
}

/// Times of `to`'s tables that `from`'s predict, over what they are, minus 1; of points that both
/// have of one source and shape.
std::vector<double> errors_between(const Gpu& from, const Gpu& to) {
  std::vector<double> errors;
  const SisterCard sister = sister_card(from);
  for (std::size_t i = 0; i < to.tables->groups().size(); ++i) {
    const TableGroup& group = to.tables->groups()[i];
    if (group.key.family == OperatorFamily::collective) continue;
    const auto& theirs = from.tables->groups();
    const auto same = std::ranges::find_if(theirs, [&](const TableGroup& other) {
      return other.source == group.source && other.key == group.key;
    });
    if (same == theirs.end()) continue;
    const auto curves = from.tables->curves(static_cast<std::size_t>(same - theirs.begin())).all();
    for (const MeasuredCurve& own : to.tables->curves(i).all()) {
      const auto other = std::ranges::find(curves, own.shape, &MeasuredCurve::shape);
      if (other == curves.end()) continue;
      for (const MeasuredPoint& point : own.points) {
        const Seconds timed = answer(*other, point.x, point.y, from.multiprocessors).time;
        const Seconds fixed = std::min(other->terms.floor, timed);
        const double ratio = transferred_ratio(work_of(own.shape, point.x, point.y), sister, to);
        const Seconds carried = fixed * transferred_fixed(sister, to) + (timed - fixed) * ratio;
        errors.push_back(carried / point.time - 1);
      }
    }
  }
  return errors;
}

TEST(SisterCards, PredictEachOthersTablesWithinWhatCarryingAdds) {
  // Two cards of one chip, both with tables: two thirds lie within a standard deviation of memories
  // as fast, whose ratio adds next to nothing.
  std::vector<double> errors = errors_between(load_gpu("b300").gpu, load_gpu("gb300").gpu);
  ASSERT_GT(errors.size(), 100'000U);
  for (double& error : errors) error = std::abs(error);
  std::ranges::sort(errors);
  EXPECT_LE(quantile(errors, 0.68), kCarriedDeviation);
}

}  // namespace
}  // namespace roofcast

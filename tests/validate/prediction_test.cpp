#include "validate/prediction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/statistics.hpp"

namespace roofcast {
namespace {

/// 30 requests at 10 a second, then 30 at 40, on an engine whose first tokens are least well known.
ValidationCase two_stages() {
  ValidationCase question;
  question.scenario.deployment = {.model = "llama-3.1-8b", .gpu = "h100", .engine = "sglang"};
  SyntheticWorkload load{.num_prompts = 60, .input = fixed_length(900), .output = fixed_length(20)};
  load.pattern = StagedLoad{
      .stages = {{.rate = 10, .duration = Seconds{3}}, {.rate = 40, .duration = Seconds{0.75}}}};
  question.scenario.workload = load;
  return question;
}

/// The mean TTFT of a stage, or of all.
double mean_ttft(SimulationRun run, const std::optional<std::int64_t>& stage) {
  keep_stage(run, stage);
  return run.result.ttft.mean;
}

// Late first tokens are found without simulating: the interval is that of simulating each cause of
// error at both ends, its effects added in squares (less KV capacity would change nothing here).
TEST(Prediction, IntervalsAreThoseOfSimulatingEachCause) {
  for (const std::optional<std::int64_t> stage : {std::optional<std::int64_t>{}, {1}, {2}}) {
    ValidationCase question = two_stages();
    question.stage = stage;
    SimulationRun run = prepare(question);
    const PoolStepTimes step_times = step_times_of(run);
    simulate_sampled(run, step_times, {});
    ASSERT_LT(run.result.use.peak_kv_use, 0.5);
    const double predicted = mean_ttft(run, stage);
    double above = 0, below = 0;
    for (const auto cause :
         {&Deviations::step_time, &Deviations::first_token, &Deviations::per_request}) {
      double high = 0, low = 0;
      for (const double end : {kIntervalDeviations, -kIntervalDeviations}) {
        Deviations deviations;
        deviations.*cause = end;
        SimulationRun other = run;
        other.result = simulate_deviating(run, step_times, deviations, {});
        const double more = mean_ttft(other, stage) - predicted;
        high = std::max(high, more);
        low = std::max(low, -more);
      }
      above += high * high;
      below += low * low;
    }
    const Prediction prediction = predict(question, {});
    const auto row = std::ranges::find_if(prediction.run.metrics, [](const MetricRow& one) {
      return one.name == "ttft_s" && one.statistic == "mean";
    });
    ASSERT_NE(row, prediction.run.metrics.end());
    const Interval& interval =
        prediction.intervals[static_cast<std::size_t>(row - prediction.run.metrics.begin())];
    EXPECT_DOUBLE_EQ(row->value, predicted);
    EXPECT_DOUBLE_EQ(interval.high, predicted + std::sqrt(above));
    EXPECT_DOUBLE_EQ(interval.low, std::max(0.0, predicted - std::sqrt(below)));
    EXPECT_GT(interval.high, 1.5 * predicted);  // e^(1.28 x 0.68) of first tokens alone is 2.4
  }
}

// Watts are off by what times are, and by what the terms of the power model are.
TEST(Prediction, IntervalsOfPowerAreWiderThanThoseOfItsTimes) {
  const auto width = [](const char* gpu) {
    ValidationCase question = two_stages();
    question.scenario.deployment.gpu = gpu;
    const Prediction prediction = predict(question, {});
    const auto row =
        std::ranges::find(prediction.run.metrics, "mean_power_w_per_gpu", &MetricRow::name);
    EXPECT_NE(row, prediction.run.metrics.end());
    const Interval& interval =
        prediction.intervals[static_cast<std::size_t>(row - prediction.run.metrics.begin())];
    return std::log(interval.high / row->value) / kIntervalDeviations;
  };
  EXPECT_GT(width("mi355x"), 0.12);  // fitted to measured boards
  EXPECT_LT(width("mi355x"), 0.4);
  EXPECT_GT(width("h100"), 0.65);  // not
}

// SGLang starts with the 2,000 tokens that it is given and prints them; vLLM does not start.
TEST(Prediction, OfMemoryIsOfTheServerAsItStarts) {
  ValidationCase question = two_stages();
  question.ask = ValidationAsk::memory;
  question.scenario.deployment.overrides.num_gpu_blocks_override = 2000;
  const Prediction sglang = predict(question, {});
  EXPECT_EQ(sglang.refusal, "");
  const auto row = std::ranges::find_if(
      sglang.run.metrics, [](const MetricRow& one) { return one.name == "kv_tokens"; });
  ASSERT_NE(row, sglang.run.metrics.end());
  EXPECT_EQ(row->value, 2000);
  question.scenario.deployment.engine = "vllm";
  EXPECT_NE(predict(question, {}).refusal, "");
}

}  // namespace
}  // namespace roofcast

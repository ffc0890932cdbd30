#include "calibrate/runtime/step_comparison.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/statistics.hpp"

namespace roofcast::runtime {
namespace {

struct Tally {
  ErrorSummary summary{};
  std::vector<double> errors{};

  void add(Seconds measured, Seconds predicted) {
    ++summary.steps;
    summary.measured += measured;
    summary.predicted += predicted;
    errors.push_back(std::abs(predicted / measured - 1));
  }

  ErrorSummary done() {
    if (errors.empty()) return summary;
    std::sort(errors.begin(), errors.end());
    summary.median_error = quantile(errors, 0.5);
    summary.p95_error = quantile(errors, 0.95);
    summary.bias = summary.predicted / summary.measured - 1;
    return summary;
  }
};

}  // namespace

std::vector<Seconds> predicted_times(const std::vector<TimedStep>& steps,
                                     const StepTime& estimate) {
  std::vector<Seconds> times;
  times.reserve(steps.size());
  for (const TimedStep& step : steps) times.push_back(estimate.seconds(step.batch));
  return times;
}

StepComparison compare_steps(const std::vector<TimedStep>& steps,
                             std::span<const Seconds> predicted) {
  assert(predicted.size() == steps.size());
  Tally decode;
  Tally prefill;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Tally& tally = steps[i].batch.prefills.empty() ? decode : prefill;
    tally.add(steps[i].time, predicted[i]);
  }
  return {.decode = decode.done(), .prefill = prefill.done()};
}

}  // namespace roofcast::runtime

#include "calibrate/runtime/step_comparison.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/statistics.hpp"

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

StepComparison compare_steps(const std::vector<TimedStep>& steps, const StepTime& predicted) {
  Tally decode;
  Tally prefill;
  for (const TimedStep& step : steps) {
    Tally& tally = step.batch.prefills.empty() ? decode : prefill;
    tally.add(step.time, predicted.seconds(step.batch));
  }
  return {.decode = decode.done(), .prefill = prefill.done()};
}

}  // namespace roofcast::runtime

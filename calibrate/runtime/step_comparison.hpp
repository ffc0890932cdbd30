// Compares executed steps with the step-time interface's estimates for the same batches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/runtime/device_step.hpp"

namespace roofcast::runtime {

/// Errors are predicted / measured - 1.
struct ErrorSummary {
  std::int64_t steps = 0;
  double median_error = 0;  // of the absolute errors
  double p95_error = 0;
  double bias = 0;     // of sums: all predicted time over all measured, less 1
  Seconds measured{};  // sums
  Seconds predicted{};
};

struct StepComparison {
  ErrorSummary decode{};   // steps without prompt tokens
  ErrorSummary prefill{};  // the others
};

/// Estimates each step. `estimate` must use the attention spans with which the batches were made.
std::vector<Seconds> predicted_times(const std::vector<TimedStep>& steps, const StepTime& estimate);

/// `predicted`: one time per step.
StepComparison compare_steps(const std::vector<TimedStep>& steps,
                             std::span<const Seconds> predicted);

}  // namespace roofcast::runtime

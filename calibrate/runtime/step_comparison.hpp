// Steps as they were run beside what the step-time seam says of the same batches.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/runtime/device_step.hpp"

namespace roofcast::runtime {

/// Errors are predicted over measured, less 1.
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

/// `predicted` asks for the same spans as the steps' batches were made with.
StepComparison compare_steps(const std::vector<TimedStep>& steps, const StepTime& predicted);

}  // namespace roofcast::runtime

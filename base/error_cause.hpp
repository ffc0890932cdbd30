// A cause of error of a prediction.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace roofcast {

/// Independent of the other causes; predictions with a cause of the same name err together.
struct ErrorCause {
  std::string name{};    // "measured experts", "kernel tables", "host"
  double deviation = 0;  // of what is predicted, relative: one standard deviation
  /// What all that has this in full is, on whatever GPU: "AMD sglang". Empty: predictions for one
  /// engine on one kind of GPU have part of it in common.
  std::string common_to{};
};

/// The deviations of all causes together.
inline double combined_deviation(const std::vector<ErrorCause>& causes) {
  double sum = 0;
  for (const ErrorCause& cause : causes) sum += cause.deviation * cause.deviation;
  return std::sqrt(sum);
}

}  // namespace roofcast

// What `roofcast estimate` answers.
#pragma once

#include <cstdint>

#include "planner/deploy.hpp"
#include "reports/document.hpp"

namespace roofcast {

struct EstimateQuestion {
  std::int64_t batch = 1;
  std::int64_t input_tokens = 1024;
  std::int64_t output_tokens = 128;
  bool list_operators = false;
};

/// Prefill and decode time, rates, MFU, MBU, ridge and crossing, the operators, and what other
/// number formats would change.
Document estimate_document(const DeploymentOptions& options, const EstimateQuestion& question);

}  // namespace roofcast

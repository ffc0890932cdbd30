// Every case of a validation answered and put beside what was measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/validation.hpp"
#include "validate/prediction.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

/// A case beside its prediction.
struct ValidatedCase {
  ComparedCase compared{};
  Prediction prediction{};
  std::vector<std::string> unpredicted{};  // measured figures without a prediction: "itl_s p25"
  std::vector<std::string> assumed{};      // what the measured file does not say
  std::vector<std::string> warnings{};     // where it contradicts itself
};

/// In the order of the cases, the same whatever the number of threads. A case that cannot be
/// answered says why in compared.reason. `progress` counts cases and is called by the thread that
/// called this; returning false ends the work, and nothing is returned.
std::optional<std::vector<ValidatedCase>> run_validation(const std::vector<ValidationCase>& cases,
                                                         int threads,
                                                         const ProgressFunction& progress);

}  // namespace roofcast

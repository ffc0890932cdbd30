// Predicts every case of a validation and compares it with the measurement.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "validate/ledger.hpp"
#include "validate/prediction.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

/// A case and its prediction.
struct ValidatedCase {
  ComparedCase compared{};
  Prediction prediction{};
  std::vector<std::string> unpredicted{};  // measured figures without prediction: "itl_s p25"
  std::vector<std::string> assumed{};      // assumptions where the measured file is silent
  std::vector<std::string> warnings{};     // contradictions within the file
};

/// In the order of the cases, regardless of the number of threads. For a case that cannot be
/// answered, compared.reason says why. `progress` counts cases and is called on the calling thread;
/// if it returns false, the work ends and nullopt is returned.
std::optional<std::vector<ValidatedCase>> run_validation(const std::vector<ValidationCase>& cases,
                                                         int threads, const Progress& progress);

}  // namespace roofcast

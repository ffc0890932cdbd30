// A validation as it is reported: the cases, their ledger, the limits and what exceeds them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/store.hpp"
#include "reports/validation.hpp"
#include "validate/run_validation.hpp"

namespace roofcast {

/// A validation with what its answer is about.
struct ValidationReport {
  std::vector<std::string> files{};  // as the user named them
  std::string name{};                // of the manifest
  std::vector<ValidatedCase> cases{};
  std::vector<LedgerLine> ledger{};
  std::vector<ErrorLimit> limits{};
  std::vector<ExceededLimit> exceeded{};
  std::vector<ErrorLimit> unjudged{};  // of `limits`, those that no figure is about
  bool sum_up = false;                 // people see the ledger instead of every case
};

/// Both sides of the cases that have an answer, in order; `cases` are the questions of the
/// report's.
std::vector<ValidationRuns> validation_runs(const ValidationReport& report,
                                            const std::vector<ValidationCase>& cases,
                                            const std::string& command_line);

/// Cases with a prediction.
std::int64_t answered(const ValidationReport& report);

/// Whether every case has an answer and every limit a figure: else a limit that holds says nothing
/// of the rest.
bool is_judged_whole(const ValidationReport& report);

/// A figure in the unit that ends its metric's name; what has none is a count, in whole numbers.
std::string measured_text(const std::string& metric, double value);

}  // namespace roofcast

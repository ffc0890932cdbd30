// The output of `roofcast validate`: per case, and summarised.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "reports/store.hpp"
#include "reports/validation.hpp"
#include "validate/run_validation.hpp"

namespace roofcast {

/// A validation and what it covers.
struct ValidationReport {
  std::vector<std::string> files{};  // as given by the user
  std::string name{};                // of the manifest
  std::vector<ValidatedCase> cases{};
  std::vector<LedgerLine> ledger{};
  std::vector<ErrorLimit> limits{};
  std::vector<ExceededLimit> exceeded{};
  std::vector<ErrorLimit> unjudged{};  // those of `limits` without any figure
  bool sum_up = false;                 // text output shows the ledger instead of every case
};

/// Predicted and measured runs of the cases that have an answer, in order; `cases` are the inputs
/// of the report's cases.
std::vector<ValidationRuns> validation_runs(const ValidationReport& report,
                                            const std::vector<ValidationCase>& cases,
                                            const std::string& command_line);

/// Number of cases with a prediction.
std::int64_t answered(const ValidationReport& report);

/// Whether every case has an answer and every limit a figure: otherwise limits that hold say
/// nothing about the rest.
bool is_judged_whole(const ValidationReport& report);

/// A figure in the unit that its metric's name ends in; a metric without one is a whole count.
std::string measured_text(const std::string& metric, double value);

/// JSON has every case and the ledger; text has one of the two, then unanswered cases and exceeded
/// limits.
Document validation_document(const ValidationReport& report);

}  // namespace roofcast

// Measured runs and their predictions as rows of the store.
#pragma once

#include <string>
#include <vector>

#include "base/numbers.hpp"
#include "reports/store.hpp"
#include "validate/run_validation.hpp"

namespace roofcast {

/// Both sides of the cases that have an answer, in order; `cases` are the questions of `validated`.
std::vector<ValidationRuns> validation_runs(const std::vector<ValidatedCase>& validated,
                                            const std::vector<ValidationCase>& cases,
                                            const std::string& command_line);

/// A figure in the unit that ends its metric's name; what has none is a count, in whole numbers.
Printed measured_cell(const std::string& metric, double value);

}  // namespace roofcast

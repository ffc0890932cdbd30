// Predicted against measured as a figure.
#pragma once

#include <vector>

#include "cli/run_validation.hpp"
#include "reports/scatter_plot.hpp"

namespace roofcast {

/// A panel for each metric and statistic, a mark for each case; marks are told apart by group, by
/// engine where no case has one.
ScatterPlot validation_plot(const std::string& title, const std::vector<ValidatedCase>& cases);

}  // namespace roofcast

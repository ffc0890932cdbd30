// Predictions beside what was measured, as figures.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/figure.hpp"
#include "reports/validation.hpp"

namespace roofcast {

/// One figure a metric, in the order in which metrics appear: predicted over measured with y = x;
/// series by the user's groups, or by engine where there are none. Points at or below 0 have no
/// place on it.
std::vector<Figure> predicted_over_measured(const std::vector<ComparedCase>& cases);

/// How many figures have which error, by engine. Nothing to draw: no figure.
std::vector<Figure> error_histogram(const std::vector<ComparedCase>& cases);

/// Share of the figures that their interval holds, by metric, beside the share that was meant.
std::vector<Figure> interval_coverage(const std::vector<LedgerLine>& ledger);

/// "ttft_s p95"
std::string title_of(const ComparedFigure& figure);

}  // namespace roofcast

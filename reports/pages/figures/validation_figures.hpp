// Predictions against measurements, as figures.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/figure.hpp"
#include "validate/ledger.hpp"

namespace roofcast {

/// One figure per metric, in order of first appearance: predicted over measured, with y = x. Series
/// are the user's groups, or engines if there are none. Leaves out points at or below 0, because
/// the axes are logarithmic.
std::vector<Figure> predicted_over_measured(const std::vector<ComparedCase>& cases);

/// The relative error of every figure of one case, with its interval, the largest first; nullopt
/// without a figure to compare.
std::optional<Figure> errors_of_case(const ComparedCase& compared);

/// Number of figures by error, per engine. Empty if there is nothing to draw.
std::vector<Figure> error_histogram(const std::vector<ComparedCase>& cases);

/// Share of figures whose interval contains the measured value, by metric, next to the nominal
/// share.
std::vector<Figure> interval_coverage(const std::vector<LedgerLine>& ledger);

/// "ttft_s p95"
std::string title_of(const ComparedFigure& figure);

}  // namespace roofcast

// Estimates of batches and prompt lengths beside each other, as figures and a page.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "reports/pages/report.hpp"
#include "roofcast/estimate.hpp"

namespace roofcast {

/// Time, rate, intensity and utilisation over the batches, or over the prompt lengths if there is
/// one batch only. Empty if nothing fits.
std::vector<Figure> estimate_figures(const BatchesAnswer& answer);

/// Sentences, figures and tables as a page.
Report estimate_report(const BatchesAnswer& answer);

}  // namespace roofcast

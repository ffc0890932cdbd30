// Estimates of batches and prompt lengths beside each other, as tables, figures and a page.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "reports/pages/report.hpp"
#include "roofcast/estimate.hpp"

namespace roofcast {

/// Products, attention and the whole of both steps of one batch.
Table parts_table(const EstimateAnswer& answer);

/// By prompt length: where memory ends, and from which batch on decoding is compute-bound.
Table context_table(const BatchesAnswer& answer);

/// A row for each batch and prompt length. Batches beyond memory have no times.
Table decode_table(const BatchesAnswer& answer);
Table prefill_table(const BatchesAnswer& answer);
Table batch_cost_table(const BatchesAnswer& answer);

/// Which batches fit, and where decoding becomes compute-bound, in sentences.
std::vector<std::string> batch_sentences(const BatchesAnswer& answer);

/// Time, rate, intensity and utilisation over the batches, or over the prompt lengths if there is
/// one batch only. Empty if nothing fits.
std::vector<Figure> estimate_figures(const BatchesAnswer& answer);

/// Sentences, figures and tables as a page.
Report estimate_report(const BatchesAnswer& answer);

}  // namespace roofcast

// Estimates of batches and prompt lengths as sentences and tables, for the terminal and for the
// page.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "roofcast/estimate.hpp"

namespace roofcast {

/// Whether the engine computes the prompts in several steps, which take another time than one.
bool is_chunked(const EstimateAnswer& answer);

/// "--cuda-graph-max-bs 129": what would have a CUDA graph hold the decode.
std::string graph_flag(const UncapturedDecode& decode);

/// Products, attention and the whole of both steps of one batch.
Table parts_table(const EstimateAnswer& answer);

/// By prompt length: where memory ends, and from which batch on decoding is compute-bound.
Table context_table(const BatchesAnswer& answer);

/// A row for each batch and prompt length. Batches beyond memory have no times.
Table decode_table(const BatchesAnswer& answer);
Table prefill_table(const BatchesAnswer& answer);
Table batch_cost_table(const BatchesAnswer& answer);

/// Which batches fit, and where decoding becomes compute-bound.
std::vector<std::string> batch_sentences(const BatchesAnswer& answer);

}  // namespace roofcast

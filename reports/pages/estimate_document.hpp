// What `roofcast estimate` prints: of one batch, and of several.
#pragma once

#include "reports/document.hpp"
#include "roofcast/estimate.hpp"

namespace roofcast {

/// Prefill and decode time, rates, MFU, MBU, ridge and crossing, and the effect of other number
/// formats; with `list_operators` also a table of the operators of both steps in text output.
Document estimate_document(const EstimateAnswer& answer, bool list_operators);

/// The batches beside each other.
Document batches_document(const BatchesAnswer& answer);

}  // namespace roofcast

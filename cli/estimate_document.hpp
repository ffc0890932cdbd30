// The output of `roofcast estimate`.
#pragma once

#include "reports/document.hpp"
#include "roofcast/estimate.hpp"

namespace roofcast {

/// Prefill and decode time, rates, MFU, MBU, ridge and crossing, and the effect of other number
/// formats; with `list_operators` also a table of the operators of both steps in text output.
Document estimate_document(const EstimateAnswer& answer, bool list_operators);

}  // namespace roofcast

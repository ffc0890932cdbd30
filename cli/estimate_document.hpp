// What `roofcast estimate` answers.
#pragma once

#include "reports/document.hpp"
#include "roofcast/estimate.hpp"

namespace roofcast {

/// Prefill and decode time, rates, MFU, MBU, ridge and crossing, and what other number formats
/// would change; with `list_operators` a table of the operators of both steps for people too.
Document estimate_document(const EstimateAnswer& answer, bool list_operators);

}  // namespace roofcast

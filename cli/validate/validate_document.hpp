// What `roofcast validate` prints: case by case, and summed up.
#pragma once

#include "reports/document.hpp"
#include "validate/validation_report.hpp"

namespace roofcast {

/// For machines every case and the ledger; for people one of the two, then what was not answered
/// and what is past its limit.
Document validation_document(const ValidationReport& report);

}  // namespace roofcast

// What `roofcast validate` prints: case by case, or summed up.
#pragma once

#include "reports/document.hpp"
#include "roofcast/validate.hpp"

namespace roofcast {

/// For machines every case and the ledger; for people the ledger if `sum_up`, otherwise every case,
/// then what was not answered and what is past its limit.
Document validation_document(const ValidationAnswer& answer, bool sum_up);

}  // namespace roofcast

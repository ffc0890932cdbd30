// What `roofcast validate` prints.
#pragma once

#include "reports/document.hpp"
#include "roofcast/validate.hpp"

namespace roofcast {

/// What people see: all false lists every case.
struct ValidationParts {
  bool ledger = false;     // errors summed up
  bool decisions = false;  // what choices by predictions are worth
  bool versions = false;   // how far versions of an engine differ
};

/// For machines all of it; for people the parts, then what was not answered and what is past its
/// limit.
Document validation_document(const ValidationAnswer& answer, const ValidationParts& parts);

}  // namespace roofcast

// The output of `roofcast runs import`.
#pragma once

#include "reports/document.hpp"
#include "roofcast/import.hpp"

namespace roofcast {

Document import_document(const ImportAnswer& answer);

}  // namespace roofcast

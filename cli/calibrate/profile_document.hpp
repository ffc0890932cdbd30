// The output of `roofcast profile import`.
#pragma once

#include "reports/document.hpp"
#include "roofcast/import.hpp"

namespace roofcast {

Document import_document(const TablesAnswer& answer);

}  // namespace roofcast

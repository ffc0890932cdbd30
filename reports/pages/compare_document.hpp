// What `roofcast compare` prints.
#pragma once

#include "reports/document.hpp"
#include "roofcast/compare.hpp"

namespace roofcast {

/// Each metric of each run beside the first run's.
Document compare_document(const CompareAnswer& answer);

}  // namespace roofcast

// The comparison of stored runs as text and JSON.
#pragma once

#include "reports/document.hpp"
#include "roofcast/compare.hpp"

namespace roofcast {

Document compare_document(const CompareAnswer& answer);

}  // namespace roofcast

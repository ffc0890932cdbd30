// The terminal output of `roofcast plan`.
#pragma once

#include "reports/document.hpp"
#include "roofcast/plan.hpp"

namespace roofcast {

Document plan_document(const PlanAnswer& answer);

}  // namespace roofcast

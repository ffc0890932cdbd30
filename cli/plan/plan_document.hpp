// The answer of `roofcast plan` on a terminal.
#pragma once

#include "reports/document.hpp"
#include "roofcast/plan.hpp"

namespace roofcast {

Document plan_document(const PlanAnswer& answer);

}  // namespace roofcast

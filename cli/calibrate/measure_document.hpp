// The output of `roofcast measure`.
#pragma once

#include "reports/document.hpp"
#include "roofcast/measure.hpp"

namespace roofcast {

Document measure_document(const MeasureAnswer& answer);

}  // namespace roofcast

// What measure and profile import print.
#pragma once

#include "reports/document.hpp"
#include "roofcast/import.hpp"
#include "roofcast/measure.hpp"

namespace roofcast {

/// The output of `roofcast measure`.
Document measure_document(const MeasureAnswer& answer);

/// The output of `roofcast profile import`.
Document import_document(const TablesAnswer& answer);

}  // namespace roofcast

// What `roofcast simulate` and `roofcast capacity` print.
#pragma once

#include "reports/document.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/simulate.hpp"

namespace roofcast {

/// The verdict, latencies, load and, where they were looked for, the limits.
Document simulation_document(const SimulationAnswer& answer);

/// The most load, what limits it, and every load that was tried.
Document capacity_document(const CapacityAnswer& answer);

}  // namespace roofcast

// A simulation's answer as text: what it means in sentences, and its figures in tables.
#pragma once

#include <vector>

#include "reports/document.hpp"
#include "roofcast/simulate.hpp"

namespace roofcast {

/// For a deployment that does not fit: what does not, and what to change. Limits are left out.
std::vector<Section> simulation_sections(const SimulationAnswer& answer);

}  // namespace roofcast

// A simulation's answer for people: what it means in lines, and its figures in tables.
#pragma once

#include <vector>

#include "reports/document.hpp"
#include "roofcast/simulate.hpp"

namespace roofcast {

/// Of a deployment that does not fit: what does not, and where to look. Limits are left out.
std::vector<Section> simulation_sections(const SimulationAnswer& answer);

}  // namespace roofcast

// A hardware profile for people: its facts, peaks and sources in tables, and how near what was
// timed on such a device comes to them.
#pragma once

#include <vector>

#include "reports/document.hpp"
#include "roofcast/gpus.hpp"

namespace roofcast {

std::vector<Section> gpu_sections(const GpuAnswer& answer);

}  // namespace roofcast

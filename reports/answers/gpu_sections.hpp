// A hardware profile in tables: its facts, peaks and sources, and the share of these that timed
// kernels reach.
#pragma once

#include <vector>

#include "reports/document.hpp"
#include "roofcast/gpus.hpp"

namespace roofcast {

std::vector<Section> gpu_sections(const GpuAnswer& answer);

}  // namespace roofcast

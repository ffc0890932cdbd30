// The report on a hardware profile.
#pragma once

#include <string>
#include <vector>

#include "model/hardware/gpu.hpp"
#include "reports/pages/report.hpp"

namespace roofcast {

/// One figure per family of measured curves: the share of the roofline that kernels reach, by size.
/// Empty if the profile has no measured curves.
std::vector<Figure> measured_figures(const Gpu& gpu);

/// Shares of the datasheet's limits in the profile's efficiency curves, by size.
std::vector<Figure> efficiency_figures(const Gpu& gpu);

/// `name` is any that load_gpu() accepts, or a path.
Report profile_report(const std::string& name);

}  // namespace roofcast

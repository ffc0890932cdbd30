// The report on a hardware profile.
#pragma once

#include <string>
#include <vector>

#include "model/hardware/gpu.hpp"
#include "reports/pages/report.hpp"

namespace roofcast {

/// Of the profile's measured curves a figure a family: the share of the roofline that kernels
/// reach by size. None of a profile that was not measured.
std::vector<Figure> measured_figures(const Gpu& gpu);

/// Shares of the datasheet's limits that the profile's efficiency curves give, by size.
std::vector<Figure> efficiency_figures(const Gpu& gpu);

/// By any name or path that load_gpu() takes.
Report profile_report(const std::string& gpu);

}  // namespace roofcast

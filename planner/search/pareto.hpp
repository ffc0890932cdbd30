// The Pareto set of several answers.
#pragma once

#include <span>
#include <vector>

namespace roofcast {

/// Indices, ascending, of the points that no other point dominates (nowhere larger and somewhere
/// smaller). All coordinates are minimised and all points have the same number of them; equal
/// points all stay.
std::vector<std::size_t> pareto_set(std::span<const std::vector<double>> points);

}  // namespace roofcast

// Which of several answers no other beats in everything.
#pragma once

#include <span>
#include <vector>

namespace roofcast {

/// Indices, ascending, of the points that no other point dominates: one that is nowhere larger and
/// somewhere smaller. Each point lists what is to be small, all as many; equal points all stay.
std::vector<std::size_t> pareto_set(std::span<const std::vector<double>> points);

}  // namespace roofcast

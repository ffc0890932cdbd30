// The Pareto set of several answers, and of what deployments are compared by.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace roofcast {

/// Indices, ascending, of the points that no other point dominates (nowhere larger and somewhere
/// smaller). All coordinates are minimised and all points have the same number of them; equal
/// points all stay.
std::vector<std::size_t> pareto_set(std::span<const std::vector<double>> points);

/// What makes a deployment worth having beside others that meet the SLO.
struct ParetoFigures {
  std::optional<double> dollars_per_hour{};  // unset: no price is known
  std::int64_t gpus = 0;
  double margin = 0;  // SloVerdict::worst_margin
  double capacity_rate_per_s = 0;
};

/// Indices, ascending, of the deployments that no other one beats: costs less (or takes fewer GPUs,
/// unless all prices are known), has more SLO margin and carries more, or is equal in some of
/// these.
std::vector<std::size_t> pareto_deployments(std::span<const ParetoFigures> deployments);

}  // namespace roofcast

#include "planner/search/pareto.hpp"

#include <algorithm>
#include <cstddef>

namespace roofcast {
namespace {

bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool smaller = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    smaller = smaller || a[i] < b[i];
  }
  return smaller;
}

}  // namespace

std::vector<std::size_t> pareto_set(std::span<const std::vector<double>> points) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    bool beaten = false;
    for (const std::vector<double>& other : points) beaten = beaten || dominates(other, points[i]);
    if (!beaten) kept.push_back(i);
  }
  return kept;
}

std::vector<std::size_t> pareto_deployments(std::span<const ParetoFigures> deployments) {
  const bool priced = std::ranges::all_of(
      deployments, [](const ParetoFigures& one) { return one.dollars_per_hour.has_value(); });
  std::vector<std::vector<double>> points;
  for (const ParetoFigures& one : deployments) {
    const double cost = priced ? *one.dollars_per_hour : static_cast<double>(one.gpus);
    points.push_back({cost, -one.margin, -one.capacity_rate_per_s});
  }
  return pareto_set(points);
}

}  // namespace roofcast

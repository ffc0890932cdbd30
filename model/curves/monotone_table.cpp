#include "model/curves/monotone_table.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace roofcast {

MonotoneTable::MonotoneTable(std::vector<double> x, std::vector<double> y)
    : x_(std::move(x)), y_(std::move(y)), times_(x_.size() * y_.size()), timed_(x_.size()) {
  assert(!x_.empty() && !y_.empty());
}

// Simulated batches change little from step to step, so the last cell is usually right.
MonotoneTable::Place MonotoneTable::find(const std::vector<double>& nodes, double value,
                                         std::size_t hint) {
  if (value >= nodes.back()) {
    const double beyond = nodes.back() > 0 ? value / nodes.back() : 1.0;
    return {.cell = nodes.size() - 1, .share = 0, .beyond = beyond};
  }
  if (value <= nodes.front()) return {};
  std::size_t cell = hint;
  if (cell + 1 >= nodes.size() || value < nodes[cell] || value >= nodes[cell + 1]) {
    const auto after = std::upper_bound(nodes.begin(), nodes.end(), value);
    cell = static_cast<std::size_t>(after - nodes.begin()) - 1;
  }
  return {.cell = cell, .share = (value - nodes[cell]) / (nodes[cell + 1] - nodes[cell])};
}

// At a last node the share is 0, so the node itself can replace the missing next one.
Seconds MonotoneTable::between(const Place& along_x, const Place& along_y, std::size_t next_x,
                               std::size_t next_y) const {
  const auto mean = [](double a, double b, double share) { return a + share * (b - a); };
  const double lower =
      mean(time_at(along_x.cell, along_y.cell), time_at(along_x.cell, next_y), along_y.share);
  const double upper = mean(time_at(next_x, along_y.cell), time_at(next_x, next_y), along_y.share);
  return Seconds{mean(lower, upper, along_x.share) * along_x.beyond * along_y.beyond};
}

std::vector<double> octave_nodes(double low, double high, int steps) {
  assert(low > 0 && low <= high);
  std::vector<double> nodes;
  int exponent = 0;
  std::frexp(low, &exponent);
  for (--exponent; std::ldexp(1.0, exponent) <= high; ++exponent) {
    for (int step = 0; step < steps; ++step) {
      const double node = std::ldexp(1.0 + static_cast<double>(step) / steps, exponent);
      if (node >= low && node <= high) nodes.push_back(node);
    }
  }
  return nodes;
}

}  // namespace roofcast

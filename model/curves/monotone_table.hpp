// A function of two sizes as a monotone table: larger sizes never take less.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/units.hpp"

namespace roofcast {

/// Times at the nodes of a grid, each raised to the longest time at any node that is smaller on
/// both axes; bilinear between nodes, so that the time never falls along either axis. Below the
/// first node the time is the first node's; beyond the last it is proportional to the size. Caches
/// the last cell used, so each thread needs its own copy.
class MonotoneTable {
 public:
  /// Preconditions: both axes ascending and not empty; a last node is 0 only if it is the only one.
  MonotoneTable(std::vector<double> x, std::vector<double> y,
                const std::function<Seconds(double, double)>& time);

  Seconds at(double x, double y) const;

  /// The time at the first node of both axes, the smallest possible answer.
  Seconds min() const { return Seconds{times_.front()}; }

 private:
  struct Place {
    std::size_t cell = 0;  // between this node and the next
    double share = 0;      // weight of the next node
    double beyond = 1;     // size divided by the last node's
  };
  static Place find(const std::vector<double>& nodes, double value, std::size_t hint);
  double time_at(std::size_t x, std::size_t y) const { return times_[x * y_.size() + y]; }

  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<double> times_;  // seconds, [x][y]
  mutable std::size_t last_x_ = 0;
  mutable std::size_t last_y_ = 0;
};

/// Nodes from `low` to `high`, ascending: the powers of two, with `steps` evenly spaced per octave.
/// Precondition: 0 < low <= high.
std::vector<double> octave_nodes(double low, double high, int steps);

}  // namespace roofcast

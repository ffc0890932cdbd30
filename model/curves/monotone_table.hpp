// A function of two sizes as a monotone table: larger sizes never take less.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/units.hpp"

namespace roofcast {

/// Times at the nodes of a grid, each raised to the longest time at any node that is smaller on
/// both axes; bilinear between nodes, so that the time never falls along either axis. Below the
/// first node the time is the first node's; beyond the last it is proportional to the size. Nodes
/// are timed when an answer first depends on them: most tables are asked for small sizes only.
/// Keeps these times and the last cell used, so each thread needs its own copy.
class MonotoneTable {
 public:
  /// Preconditions: both axes ascending and not empty; a last node is 0 only if it is the only one.
  MonotoneTable(std::vector<double> x, std::vector<double> y);

  /// `time(x, y)` is what the table holds, as Seconds; the same at each call.
  template <class Time>
  Seconds at(double x, double y, const Time& time) const {
    const Place along_x = find(x_, x, last_x_);
    const Place along_y = find(y_, y, last_y_);
    last_x_ = along_x.cell;
    last_y_ = along_y.cell;
    const std::size_t next_x = std::min(along_x.cell + 1, x_.size() - 1);
    const std::size_t next_y = std::min(along_y.cell + 1, y_.size() - 1);
    fill(next_x, next_y, time);
    return between(along_x, along_y, next_x, next_y);
  }

  /// The time at the first node of both axes, the smallest possible answer.
  template <class Time>
  Seconds min(const Time& time) const {
    fill(0, 0, time);
    return Seconds{times_.front()};
  }

 private:
  struct Place {
    std::size_t cell = 0;  // between this node and the next
    double share = 0;      // weight of the next node
    double beyond = 1;     // size divided by the last node's
  };
  static Place find(const std::vector<double>& nodes, double value, std::size_t hint);
  Seconds between(const Place& along_x, const Place& along_y, std::size_t next_x,
                  std::size_t next_y) const;

  /// Times all nodes up to this one on both axes.
  template <class Time>
  void fill(std::size_t x, std::size_t y, const Time& time) const {
    if (timed_[x] > y) return;  // then so are the rows before
    for (std::size_t i = 0; i <= x; ++i) {
      for (; timed_[i] <= y; ++timed_[i]) {
        const std::size_t j = timed_[i];
        double seconds = time(x_[i], y_[j]).value;
        if (i > 0) seconds = std::max(seconds, time_at(i - 1, j));
        if (j > 0) seconds = std::max(seconds, time_at(i, j - 1));
        times_[i * y_.size() + j] = seconds;
      }
    }
  }
  double time_at(std::size_t x, std::size_t y) const { return times_[x * y_.size() + y]; }

  std::vector<double> x_;
  std::vector<double> y_;
  mutable std::vector<double> times_;       // seconds, [x][y]
  mutable std::vector<std::size_t> timed_;  // nodes of each x, from the first y; never more than of
                                            // the x before
  mutable std::size_t last_x_ = 0;
  mutable std::size_t last_y_ = 0;
};

/// Nodes from `low` to `high`, ascending: the powers of two, with `steps` evenly spaced per octave.
/// Precondition: 0 < low <= high.
std::vector<double> octave_nodes(double low, double high, int steps);

}  // namespace roofcast

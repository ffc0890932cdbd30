// The largest load that a deployment carries within its SLO, and the latencies at loads below it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "simulator/results/verdict.hpp"

namespace roofcast {

/// The result at one load.
struct LoadPoint : LoadResult {
  double load = 0;            // in the unit of the search: a factor on the rate, a concurrency
  std::int64_t requests = 0;  // simulated
  EngineUse use{};
  SloVerdict verdict{};
};

LoadPoint load_point(double load, const SimulationResult& result,
                     const SloRequirement& requirement);

/// Simulates loads, in any order or in parallel; returns results in the order of the loads. Uses
/// the same requests for each, so that results differ only because of the load.
using LoadTrial = std::function<std::vector<LoadPoint>(std::span<const double>)>;

struct CapacitySearch {
  double min = 0;       // above 0: low enough that requests run alone; if it fails, all loads do
  double guess = 0;     // expected capacity: tried first
  double greatest = 0;  // the search tries nothing beyond it
  double tolerance = 0.01;     // relative, between greatest that holds and least that fails
  double stride = 2;           // above 1; first step from the guess to a bracket, then squared
  bool whole = false;          // loads are whole numbers (a concurrency)
  std::vector<double> also{};  // tried first: a failure among them counts
  int at_once = 1;             // loads per round: more mean fewer rounds and more simulations
};

struct Capacity {
  /// The greatest load that holds while no smaller load tried fails; nullopt when even the least
  /// fails. One that is undecided below it counts as carried: the greater load has the same
  /// requests in less time.
  std::optional<double> load{};
  bool bounded = true;              // a greater load tried fails; false: capacity is at least this
  bool monotone = true;             // false: some load beyond a failing one holds
  std::vector<LoadPoint> points{};  // all loads tried, sorted
};

/// Brackets the capacity by growing strides up or down from the guess, then cuts the bracket until
/// it is within the tolerance: around the load at which the margins of its ends say that the limit
/// is met, or, where that cut off little, into at_once + 1 parts equal in the logarithm.
Capacity find_capacity(const LoadTrial& trial, const CapacitySearch& question);

/// Whether some load beyond one that is not carried holds. `sorted` by load.
bool holds_again(std::span<const LoadPoint> sorted);

/// The point at the capacity; at the least load if there is no capacity.
const LoadPoint& point_of(const Capacity& capacity);

}  // namespace roofcast

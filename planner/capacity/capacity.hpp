// The most load that a deployment carries within its SLO, and how it fares on the way there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "simulator/results/verdict.hpp"

namespace roofcast {

/// What one load did to the deployment.
struct LoadPoint {
  double load = 0;                // in the unit of the search: a factor on the rate, a concurrency
  double offered_rate_per_s = 0;  // 0: all at once
  double request_rate_per_s = 0;  // served
  double output_tokens_per_s = 0;
  Distribution ttft{}, tpot{}, e2e{};
  EngineUse use{};
  SloVerdict verdict{};
};

LoadPoint load_point(double load, const SimulationResult& result,
                     const SloRequirement& requirement);

/// Tries loads, in any order or at once; answers in their order. The same requests for each, so
/// that two loads differ by nothing else.
using LoadTrial = std::function<std::vector<LoadPoint>(std::span<const double>)>;

struct CapacitySearch {
  double min = 0;           // above 0: so little that requests run alone; if it fails, all do
  double guess = 0;         // where the end is expected: the load is tried there first
  double greatest = 0;      // nothing beyond is tried
  double tolerance = 0.01;  // relative, between the greatest that holds and the least that fails
  double stride = 2;   // above 1; first step of the way from the guess to a bracket, then squared
  bool whole = false;  // loads are whole numbers (a concurrency)
  std::vector<double> also{};  // tried before anything else: a failure among them counts
  int at_once = 1;             // loads of one round: more take fewer rounds and more simulations
};

struct Capacity {
  /// The greatest load tried such that it and every smaller one tried hold; nothing when even the
  /// least fails.
  std::optional<double> load{};
  bool bounded = true;              // a greater load tried fails; else capacity is at least this
  bool monotone = true;             // or some load beyond one that fails holds
  std::vector<LoadPoint> points{};  // all that were tried, by load
};

/// Brackets the capacity by strides that grow from the guess upwards or downwards, then cuts the
/// bracket into at_once
/// + 1 equal parts (of the logarithm) until it is within the tolerance.
Capacity find_capacity(const LoadTrial& trial, const CapacitySearch& question);

/// The point of the capacity; of the least load when there is none.
const LoadPoint& point_of(const Capacity& capacity);

}  // namespace roofcast

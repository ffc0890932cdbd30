// How probable it is that an SLO holds, given how far the numbers under a simulation may be off.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/scenario_run.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

/// Something that a simulation rests on and that may be off.
struct Cause {
  std::string name{};                // "step time", "host work per request", "KV capacity"
  std::optional<double> flips_at{};  // its own standard deviations that turn the verdict, the
                                     // others being as predicted; unset: none within +-4
};

struct Confidence {
  bool holds = false;      // as predicted
  double probability = 0;  // that it holds in truth
  std::vector<Cause> causes{};
  std::int64_t simulations = 0;
};

/// The verdict with numbers that are off by so many of their standard deviations. Called from
/// several threads where several are allowed.
using DeviatingVerdict = std::function<bool(const Deviations&)>;

/// Probability that the verdict is yes: step time, host work per request and KV capacity err
/// independently, each normally in its logarithm. First-order reliability (Hasofer and Lind 1974,
/// "Exact and invariant second-moment code format", J. Eng. Mech. Div. 100; Ditlevsen and Madsen
/// 1996, "Structural Reliability Methods", 5.1): for each cause alone, the deviation z_i at which
/// the verdict turns, by bisection; the boundary is taken as the plane through these points, whose
/// distance from the middle is beta = 1 / sqrt(sum 1 / z_i^2), and P = Phi(beta), or Phi(-beta)
/// where the verdict is no as predicted. Slower steps, more host work and fewer blocks are taken
/// never to help. Neglects chance (other arrivals of the same rate), causes that turn nothing
/// within +-4, and the boundary's curvature.
Confidence confidence_of(const DeviatingVerdict& holds);

/// The greatest probability that confidence_of can tell: nothing turns the verdict within +-4.
double greatest_probability();

/// The same on several threads; nothing when `progress` ended it, which is asked now and then.
std::optional<Confidence> confidence_of(const DeviatingVerdict& holds, int threads,
                                        const ProgressFunction& progress);

/// Of a run that simulate_sampled has filled in. At most 25 simulations.
Confidence confidence_of(const SimulationRun& run, const PoolStepTimes& step_times,
                         const SloRequirement& requirement = {});

}  // namespace roofcast

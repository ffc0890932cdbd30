// The probability that an SLO holds, given the uncertainty of the simulation's inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

/// An uncertain input of a simulation.
struct Cause {
  std::string name{};                // "step time", "host work per request", "KV capacity", ...
  std::optional<double> flips_at{};  // its own standard deviations that flip the verdict, the
                                     // others as predicted; unset: none within +-4
};

struct Confidence {
  bool holds = false;      // as predicted
  double probability = 0;  // that it actually holds
  std::vector<Cause> causes{};
  std::int64_t simulations = 0;  // with perturbed inputs
};

/// The verdict's margin (SloVerdict::worst_margin: negative exactly if it is no) with inputs off by
/// these numbers of standard deviations. Called from several threads if several are used.
using DeviatingMargin = std::function<double(const Deviations&)>;

/// Probability that the verdict, whose margin is `predicted` as predicted, is yes: the inputs of
/// kUncertainInputs err independently, all but the acceptance of drafts lognormally. First-order
/// reliability
/// (Hasofer and Lind 1974, "Exact and invariant second-moment code format", J. Eng. Mech. Div. 100;
/// Ditlevsen and Madsen 1996, "Structural Reliability Methods", 5.1): for each cause alone, the
/// deviation z_i at which the verdict flips is bracketed, guided by how far the latency is from its
/// limit (ItpBracket), until the bracket holds at most 0.0125 of probability; the boundary is taken
/// as the plane through these points, whose distance from the origin is
/// beta = 1 / sqrt(sum 1 / z_i^2), and P = Phi(beta), or Phi(-beta) if the predicted verdict is no.
/// Assumes that slower steps, more host work and fewer blocks never help: host work and blocks that
/// flip nothing together flip nothing alone. Neglects chance (other arrivals of the same rate),
/// causes that flip nothing within +-4, and the boundary's curvature.
/// For a worker of a pool: `threads` is that of the pool, as side_by_side() takes it.
Confidence confidence_within(const DeviatingMargin& margin, double predicted, int threads = 1);

/// The greatest probability that confidence_within can return: nothing flips the verdict within
/// +-4.
double greatest_probability();

/// Of a run that simulate_sampled has filled in, judged by `requirement`: perturbed runs are as
/// long as the run itself and judged as they are, so its `must_stand` does not count. Both must
/// outlive the function, the run without changing. May be called from several threads: `step_times`
/// are used by one at a time, the others have their own.
DeviatingMargin margin_of(const SimulationRun& run, const PoolStepTimes& step_times,
                          const SloRequirement& requirement);

/// The probability that such a run holds, on a pool of `threads` threads of its own; nullopt if
/// `progress`, called from time to time, cancelled.
std::optional<Confidence> confidence_of(const SimulationRun& run, SloRequirement requirement,
                                        int threads, const Progress& progress);

/// Whether the probability is at least `least` (0.5 to greatest_probability()), with few
/// simulations: for searches. It is, and `least` is returned, if the verdict stays with all causes
/// off by the quantile of `least` at once, since no point of the sphere with that radius is farther
/// along the boundary's normal. It is not if first tokens alone, which take no simulation, reverse
/// it within that quantile, or step time alone does: the probability by that cause is returned, an
/// upper bound. Otherwise as confidence_within, also of `threads`.
Confidence confidence_for(const DeviatingMargin& margin, double predicted, double least,
                          int threads = 1);

}  // namespace roofcast

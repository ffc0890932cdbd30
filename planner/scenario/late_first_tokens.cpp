#include "planner/scenario/late_first_tokens.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/results/metrics.hpp"

namespace roofcast {
namespace {

SimulationResult late_result(const SimulationRun& run, const Deviations& deviations) {
  return with_late_first_tokens(run.result, run.scenario.slo, run.workload.stages,
                                first_token_factor(run, deviations.first_token));
}

/// Without those of inputs that are certain in this run, which change nothing.
Deviations that_matter(const SimulationRun& run, Deviations deviations) {
  for (const UncertainInput& input : kUncertainInputs) {
    if (!is_uncertain(run, input)) deviations.*input.member = 0;
  }
  return deviations;
}

}  // namespace

bool is_simulated(const SimulationRun& run, const Deviations& deviations) {
  const Deviations mattering = that_matter(run, deviations);
  const bool first_tokens_alone = mattering == Deviations{.first_token = mattering.first_token};
  return !first_tokens_alone || run.result.stopped || run.result.unfinished > 0;
}

double first_token_uncertainty_of(const SimulationRun& run) {
  double largest = 0;
  for (const PoolRun& pool : run.pools) {
    largest = std::max(largest, pool.deployment.engine.first_token_uncertainty);
  }
  return largest;
}

double first_token_factor(const SimulationRun& run, double deviations) {
  return std::exp(deviations * first_token_uncertainty_of(run));
}

SimulationResult deviating_result(const SimulationRun& run, const PoolStepTimes& step_times,
                                  const Deviations& deviations, const Progress& progress) {
  if (is_simulated(run, deviations)) {
    return simulate_deviating(run, step_times, deviations, progress);
  }
  return late_result(run, deviations);
}

SimulationResult deviating_result(const SimulationRun& run, const Deviations& deviations) {
  if (is_simulated(run, deviations)) {
    return simulate_deviating(run, step_times_of(run), deviations, {});
  }
  return late_result(run, deviations);
}

}  // namespace roofcast

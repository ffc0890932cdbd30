#include "planner/verdict/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/paired_difference.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/scenario/late_first_tokens.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {
namespace {

/// Both ends of each uncertain input, one after the other.
std::vector<Deviations> deviations_of(const SimulationRun& run) {
  std::vector<Deviations> deviations;
  for (const UncertainInput& input : kUncertainInputs) {
    if (!is_uncertain(run, input)) continue;
    for (const double end : {kIntervalDeviations, -kIntervalDeviations}) {
      deviations.emplace_back().*input.member = end;
    }
  }
  return deviations;
}

SimulationResult simulate_other_draw(const SimulationRun& run, std::uint64_t draw) {
  SimulationRun other{.scenario = run.scenario, .pools = run.pools, .stopped = run.stopped};
  other.scenario.seed += draw;
  other.workload = load_workload(other.scenario);
  return simulate_run(other);
}

/// Squares of what the causes add above and below.
struct Spread {
  double above = 0;
  double below = 0;
};

/// Of one cause: the statistic at its two ends.
void add_cause(Spread& spread, double predicted, double one, double other) {
  const double above = std::max({0.0, one - predicted, other - predicted});
  const double below = std::max({0.0, predicted - one, predicted - other});
  spread.above += above * above;
  spread.below += below * below;
}

/// Of chance: the variance of all draws.
void add_chance(Spread& spread, double predicted, const std::vector<double>& others) {
  double sum = predicted;
  for (const double other : others) sum += other;
  const auto draws = static_cast<double>(others.size() + 1);
  const double mean = sum / draws;
  double squares = (predicted - mean) * (predicted - mean);
  for (const double other : others) squares += (other - mean) * (other - mean);
  const double quantile = student_t(std::ssize(others), kIntervalShare);
  const double chance = quantile * quantile * squares / (draws - 1);
  spread.above += chance;
  spread.below += chance;
}

LatencyInterval interval_of(const LatencyFigure& latency, const SimulationResult& predicted,
                            const std::vector<SimulationResult>& results, std::size_t deviations) {
  const auto distribution = latency.distribution;
  LatencyInterval interval{
      .latency = latency.name, .low = predicted.*distribution, .high = predicted.*distribution};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (!is_mean_or_percentile(statistic)) continue;
    const auto of = [&](const SimulationResult& result) {
      return (result.*distribution).*statistic.value;
    };
    const double value = of(predicted);
    Spread spread;
    for (std::size_t i = 0; i < deviations; i += 2) {
      add_cause(spread, value, of(results[i]), of(results[i + 1]));
    }
    std::vector<double> draws;
    for (std::size_t i = deviations; i < results.size(); ++i) {
      draws.push_back(of(results[i]));
    }
    if (!draws.empty()) add_chance(spread, value, draws);
    interval.low.*statistic.value = std::max(0.0, value - std::sqrt(spread.below));
    interval.high.*statistic.value = value + std::sqrt(spread.above);
  }
  return interval;
}

}  // namespace

std::optional<LatencyIntervals> intervals_of(const SimulationRun& run, bool other_draws,
                                             int threads, const Progress& progress) {
  const std::vector<Deviations> causes = deviations_of(run);
  const std::int64_t deviations = std::ssize(causes);
  const auto simulate_one = [&](std::int64_t i) {
    if (i >= deviations) {
      return simulate_other_draw(run, static_cast<std::uint64_t>(i - deviations + 1));
    }
    return deviating_result(run, causes[static_cast<std::size_t>(i)]);
  };
  const auto results = answers_here_or_on(deviations + (other_draws ? kOtherDraws : 0), threads,
                                          simulate_one, progress);
  if (!results) return std::nullopt;
  LatencyIntervals intervals{.chance = other_draws};
  for (const LatencyFigure& latency : kLatencyFigures) {
    if ((run.result.*latency.distribution).count == 0) continue;
    intervals.latencies.push_back(interval_of(latency, run.result, *results, causes.size()));
  }
  intervals.saturates = std::ranges::any_of(
      *results, [](const SimulationResult& result) { return result.saturation.saturated; });
  return intervals;
}

}  // namespace roofcast

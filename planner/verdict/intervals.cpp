#include "planner/verdict/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
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

/// How far another draw may be from the mean of all, in their unit.
double chance_of(const std::vector<double>& draws) {
  const auto count = static_cast<double>(draws.size());
  const double mean = std::accumulate(draws.begin(), draws.end(), 0.0) / count;
  double squares = 0;
  for (const double draw : draws) squares += (draw - mean) * (draw - mean);
  return student_t(std::ssize(draws) - 1, kIntervalShare) * std::sqrt(squares / (count - 1));
}

/// Of chance. Where no draw is without a value, of its logarithm: near saturation one draw may take
/// ten times as long as the others, and none less than no time.
void add_chance(Spread& spread, double predicted, std::vector<double> draws) {
  draws.push_back(predicted);
  double above = 0, below = 0;
  if (std::ranges::all_of(draws, [](double draw) { return draw > 0; })) {
    for (double& draw : draws) draw = std::log(draw);
    const double chance = chance_of(draws);
    above = predicted * std::expm1(chance);
    below = -predicted * std::expm1(-chance);
  } else {
    above = below = chance_of(draws);
  }
  spread.above += above * above;
  spread.below += below * below;
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
    if (!draws.empty()) add_chance(spread, value, std::move(draws));
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

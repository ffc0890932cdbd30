#include "planner/search/plan_evaluator.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>

#include "planner/capacity/capacity.hpp"
#include "planner/capacity/load_study.hpp"
#include "planner/load/offered_load.hpp"
#include "planner/side_by_side.hpp"

namespace roofcast {
namespace {

// This plan's objective would not choose a candidate that carries sixteen times the load.
constexpr double kMaxFactor = 16;
// First step of the search, as a factor of the load, and the least guess. The margin at the asked
// load makes for a near guess, so that the first bracket need not be as wide as the default of 2;
// where the guess is far off, strides are squared and soon as wide. A guess of at least a stride
// makes the asked load, which holds, the lower end of a bracket if the guess fails.
constexpr double kStride = 1.25;

/// Simulates `run` with the catalogue's requests until its verdict stands.
SloVerdict simulate_steadily(SimulationRun& run, const PlanCatalogue& catalogue,
                             const SloRequirement& requirement, const SimulateRun& simulate) {
  const GrowingLoad& load = *catalogue.growing;
  if (!requirement.must_stand) {
    // All there is, as in a trace: no longer run, and no other load, can change the verdict.
    simulate(run);
    return settled_verdict(run, requirement);
  }
  return simulate_until_decided(
      run, {.load = &load, .most = load.limits().search, .requirement = requirement}, simulate);
}

CandidateFigures figures_of(const SimulationResult& result, const SloVerdict& verdict) {
  CandidateFigures figures{.verdict = verdict, .requests = std::ssize(result.requests)};
  for (const TrialFigure& figure : kTrialFigures) figures.*figure.value = figure.of(result);
  return figures;
}

/// The largest load as a factor of that of `found`, which has its result. The load itself holds, or
/// this would not be called, so smaller ones are not tried, even if verdicts alternate with the
/// load. Every load has the requests with which the verdict on the asked one stands.
Capacity capacity_of(const SimulationRun& found, SloRequirement requirement) {
  SimulationRun run{.scenario = found.scenario, .pools = found.pools};
  run.stopped = found.stopped;
  const bool must_stand = std::exchange(requirement.must_stand, false);
  const LoadPoint asked = load_point(1, found.result, requirement);
  const LoadTrial trial = [&](std::span<const double> factors) {
    std::vector<LoadPoint> points;
    for (const double factor : factors) {
      if (factor == 1) {
        points.push_back(asked);
        continue;
      }
      run.workload = at_factor(found.workload, factor);
      points.push_back(load_point(factor, simulate_candidate(run), requirement));
    }
    return points;
  };
  // Latencies rise about as the load does before they rise without bound.
  Capacity capacity =
      find_capacity(trial, {.min = 1.0,
                            .guess = std::max(kStride, 1 + asked.verdict.worst_margin),
                            .greatest = kMaxFactor,
                            .stride = kStride,
                            .also = {1.0}});
  // At the capacity itself there is doubt about a sample: loads well below and above it, for
  // is_enclosed().
  if (requirement.sample && !must_stand && capacity.load) {
    const std::array around = {std::max(1.0, 0.6 * *capacity.load), 1.8 * *capacity.load};
    for (LoadPoint& point : trial(around)) capacity.points.push_back(std::move(point));
  }
  return capacity;
}

/// The capacity near one that was found with the asked load's requests, every load with as many as
/// its verdict takes: as `capacity` searches, so that both find the same. Adds to `simulations`.
/// Precondition: the load grows, and `found` has a load.
Capacity standing_capacity(const SimulationRun& one, const PlanCatalogue& catalogue,
                           const SloRequirement& requirement, const Capacity& found,
                           std::int64_t& simulations) {
  const GrowingLoad& load = *catalogue.growing;
  const std::int64_t most = load.limits().search;
  KnownThroughput throughput;
  const LoadTrial trial = [&](std::span<const double> factors) {
    std::vector<LoadPoint> points;
    for (const double factor : factors) {
      SimulationRun run{.scenario = one.scenario, .pools = one.pools};
      run.stopped = one.stopped;
      const SloVerdict verdict = simulate_until_decided(run,
                                                        {.load = &load,
                                                         .factor = factor,
                                                         .most = most,
                                                         .requirement = requirement,
                                                         .throughput = &throughput},
                                                        [&](SimulationRun& longer) {
                                                          longer.result = simulate_run(longer);
                                                          ++simulations;
                                                        });
      points.push_back(load_point(factor, run.result, requirement));
      points.back().verdict = verdict;
    }
    return points;
  };
  return find_capacity(
      trial, {.min = 1.0, .guess = *found.load, .greatest = kMaxFactor, .stride = kStandingStride});
}

}  // namespace

CandidateFigures trial_figures_of(SimulationRun run, const PlanCatalogue& catalogue,
                                  const PlanTask& task, int threads) {
  const PoolStepTimes step_times = step_times_of(run);
  const SloVerdict verdict =
      simulate_steadily(run, catalogue, task.requirement,
                        [&](SimulationRun& one) { simulate_sampled(one, step_times, {}); });
  throw_if_stopped(run);
  CandidateFigures figures = figures_of(run.result, verdict);
  const PoolRun& pool = run.pools.front();
  figures.step_causes = pool.step_causes;
  figures.step_uncertainty = combined_deviation(pool.step_causes);
  figures.step_sources = pool.step_sources;
  if (!verdict.holds || !task.min_probability) return figures;
  const Confidence confidence =
      confidence_for(margin_of(run, step_times, task.requirement), verdict.worst_margin,
                     *task.min_probability, threads);
  throw_if_stopped(run);
  figures.probability = confidence.probability;
  figures.further_simulations = confidence.simulations;
  return figures;
}

namespace {

/// Whether loads of which the requests leave no doubt enclose the capacity: one that holds, of at
/// least half of it, and one that fails, of at most twice it (the strides of the search). At the
/// capacity itself there is always doubt.
bool is_enclosed(const Capacity& capacity) {
  constexpr double kNear = 2;
  const double load = capacity.load.value_or(0);
  bool below = false, above = !capacity.bounded;
  for (const LoadPoint& point : capacity.points) {
    if (point.verdict.undecided) continue;
    if (point.verdict.holds) below = below || (point.load <= load && point.load * kNear >= load);
    if (!point.verdict.holds) above = above || (point.load > load && point.load <= load * kNear);
  }
  return below && above;
}

}  // namespace

namespace {

/// Fills in what the load may grow to; not where it has no rate.
void add_capacity(FinalistFigures& figures, const SimulationRun& run,
                  const PlanCatalogue& catalogue, const SloRequirement& requirement) {
  if (run.scenario.max_concurrency || offered_rate_per_s(run.workload) <= 0) return;
  Capacity capacity = capacity_of(run, requirement);
  throw_if_stopped(run);
  figures.simulations += std::ssize(capacity.points) - 1;
  if (requirement.must_stand && catalogue.growing->grows() && capacity.load) {
    capacity = standing_capacity(run, catalogue, requirement, capacity, figures.simulations);
    throw_if_stopped(run);
  }
  figures.capacity_factor = capacity.load;
  figures.capacity_bounded = capacity.bounded;
  figures.capacity_monotone = capacity.monotone;
  // Where the load cannot grow, loads near the breaking point have the requests of the asked one.
  figures.capacity_decided = !requirement.sample || requirement.must_stand || is_enclosed(capacity);
  figures.capacity_rate_per_s = point_of(capacity).offered_rate_per_s;
}

}  // namespace

FinalistFigures finalist_figures_of(SimulationRun run, const PlanCatalogue& catalogue,
                                    const SloRequirement& requirement, int threads) {
  const PoolStepTimes step_times = step_times_of(run);
  std::int64_t simulations = 0;
  const SloVerdict verdict =
      simulate_steadily(run, catalogue, requirement, [&](SimulationRun& one) {
        simulate_sampled(one, step_times, {});
        ++simulations;
      });
  throw_if_stopped(run);
  FinalistFigures figures;
  figures.utilisation = utilisation_of(run.pools);
  figures.cost = cost_of(run.pools, run.result);
  figures.simulations = simulations;
  Confidence confidence;
  // Neither changes the run.
  side_by_side(threads, {[&] {
                           confidence = confidence_within(margin_of(run, step_times, requirement),
                                                          verdict.worst_margin, threads);
                         },
                         [&] { add_capacity(figures, run, catalogue, requirement); }});
  throw_if_stopped(run);
  figures.simulations += confidence.simulations;
  figures.confidence = std::move(confidence);
  return figures;
}

Evaluator plan_evaluator(const PlanCatalogue& catalogue, const PlanTask& task,
                         const std::vector<PlannedShape>& shapes, int threads) {
  return [&catalogue, &task, &shapes, threads](const FigureQuestion& question) -> Figures {
    assert(question.shape < shapes.size());
    SimulationRun run = run_of(catalogue, {.shape = shapes[question.shape].shape,
                                           .units = static_cast<std::int32_t>(question.units)});
    if (question.kind == FigureKind::finalist) {
      return finalist_figures_of(std::move(run), catalogue, task.requirement, threads);
    }
    return trial_figures_of(std::move(run), catalogue, task, threads);
  };
}

}  // namespace roofcast

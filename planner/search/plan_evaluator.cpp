#include "planner/search/plan_evaluator.hpp"

#include <cassert>
#include <span>
#include <utility>

#include "planner/capacity/capacity.hpp"
#include "planner/capacity/load_study.hpp"
#include "planner/capacity/offered_load.hpp"

namespace roofcast {
namespace {

// The capacity of a candidate that holds is usually little above the load: this plan's objective
// would not choose one that carries sixteen times as much.
constexpr double kCapacityGuess = 1.1;
constexpr double kMaxFactor = 16;

/// Simulates `run` with the catalogue's requests until its verdict stands.
SloVerdict simulate_steadily(SimulationRun& run, const PlanCatalogue& catalogue,
                             const SloRequirement& requirement) {
  const GrowingLoad& load = *catalogue.growing;
  if (!requirement.must_stand) {
    // All there is, as in a trace: no longer run, and no other load, can change the verdict.
    run.result = simulate_candidate(run);
    return judge(run.result, requirement);
  }
  return simulate_until_decided(
      run,
      {.load = &load, .most = arrival_limits(load.scenario()).search, .requirement = requirement},
      [](SimulationRun& one) { one.result = simulate_candidate(one); });
}

CandidateFigures figures_of(const SimulationResult& result, const SloVerdict& verdict) {
  return {.verdict = verdict,
          .offered_rate_per_s = result.offered_rate_per_s,
          .request_rate_per_s = result.request_rate_per_s,
          .output_tokens_per_s = result.output_tokens_per_s,
          .ttft_p95_s = result.ttft.p95,
          .tpot_p95_s = result.tpot.p95,
          .e2e_p95_s = result.e2e.p95,
          .mean_kv_use = result.use.mean_kv_use,
          .busy_share = result.use.busy_share,
          .requests = std::ssize(result.requests)};
}

/// The largest load as a factor; leaves `run` at another load. The load itself holds, or this would
/// not be called, so smaller ones are not tried, even if verdicts alternate with the load.
/// Every load has the requests with which the verdict on the asked one stands.
Capacity capacity_of(SimulationRun& run, SloRequirement requirement) {
  const Workload as_asked = run.workload;
  requirement.must_stand = false;
  const LoadTrial trial = [&](std::span<const double> factors) {
    std::vector<LoadPoint> points;
    for (const double factor : factors) {
      run.workload = at_factor(as_asked, factor);
      points.push_back(load_point(factor, simulate_candidate(run), requirement));
    }
    return points;
  };
  return find_capacity(
      trial, {.min = 1.0, .guess = kCapacityGuess, .greatest = kMaxFactor, .also = {1.0}});
}

/// With as many requests as the verdict needs: perturbed runs are as long, and judged as they are.
/// `least`: the probability that a trial must have; unset for the probability itself.
FinalistFigures confidence_figures_of(SimulationRun& run, const PlanCatalogue& catalogue,
                                      SloRequirement requirement,
                                      const std::optional<double>& least) {
  const PoolStepTimes step_times = step_times_of(run);
  simulate_steadily(run, catalogue, requirement);
  requirement.must_stand = false;
  simulate_sampled(run, step_times, {});
  const DeviatingVerdict holds = [&](const Deviations& deviations) {
    return judge(simulate_deviating(run, step_times, deviations, {}), requirement).holds;
  };
  FinalistFigures figures{.confidence =
                              least ? confidence_for(holds, *least) : confidence_of(holds)};
  figures.utilisation = utilisation_of(run.pools);
  figures.cost = cost_of(run.pools, run.result);
  figures.simulations = figures.confidence.simulations + 2;
  return figures;
}

/// Whether loads of which the requests leave no doubt enclose the capacity: one that holds, of at
/// least half of it, and one that fails, of at most twice it (the strides of the search). At the
/// capacity itself there is always doubt.
bool is_enclosed(const Capacity& capacity) {
  constexpr double kNear = 2;
  const double load = capacity.load.value_or(0);
  bool below = false, above = !capacity.bounded;
  for (const LoadPoint& point : capacity.points) {
    if (!point.verdict.undecided.empty()) continue;
    if (point.verdict.holds) below = below || (point.load <= load && point.load * kNear >= load);
    if (!point.verdict.holds) above = above || (point.load > load && point.load <= load * kNear);
  }
  return below && above;
}

FinalistFigures finalist_figures_of(SimulationRun run, const PlanCatalogue& catalogue,
                                    const SloRequirement& requirement) {
  FinalistFigures figures = confidence_figures_of(run, catalogue, requirement, {});
  if (run.scenario.max_concurrency || offered_rate_per_s(run.workload) <= 0) return figures;
  const Capacity capacity = capacity_of(run, requirement);
  figures.capacity_factor = capacity.load;
  figures.capacity_bounded = capacity.bounded;
  figures.capacity_monotone = capacity.monotone;
  // Loads near the breaking point are as long as the asked one, whose verdict stands if it could be
  // lengthened.
  figures.capacity_decided = requirement.must_stand || is_enclosed(capacity);
  figures.capacity_rate_per_s = point_of(capacity).offered_rate_per_s;
  figures.simulations += std::ssize(capacity.points);
  return figures;
}

}  // namespace

Evaluator plan_evaluator(const PlanCatalogue& catalogue, const PlanTask& task,
                         const std::vector<PlannedShape>& shapes) {
  return [&catalogue, &task, &shapes](const FigureQuestion& question) -> Figures {
    assert(question.shape < shapes.size());
    SimulationRun run = run_of(catalogue, {.shape = shapes[question.shape].shape,
                                           .units = static_cast<std::int32_t>(question.units)});
    switch (question.kind) {
      case FigureKind::confidence:
        return confidence_figures_of(run, catalogue, task.requirement, task.min_probability);
      case FigureKind::finalist:
        return finalist_figures_of(std::move(run), catalogue, task.requirement);
      case FigureKind::trial:
        break;
    }
    const SloVerdict verdict = simulate_steadily(run, catalogue, task.requirement);
    return figures_of(run.result, verdict);
  };
}

}  // namespace roofcast

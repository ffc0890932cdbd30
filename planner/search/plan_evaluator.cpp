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

CandidateFigures figures_of(const SimulationResult& result, const SloRequirement& requirement) {
  return {.verdict = judge(result, requirement),
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
Capacity capacity_of(SimulationRun& run, const SloRequirement& requirement) {
  const Workload as_asked = run.workload;
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

FinalistFigures confidence_figures_of(SimulationRun& run, const SloRequirement& requirement) {
  const PoolStepTimes step_times = step_times_of(run);
  simulate_sampled(run, step_times, {});
  FinalistFigures figures{.confidence = confidence_of(run, step_times, requirement)};
  figures.simulations = figures.confidence.simulations + 1;
  return figures;
}

FinalistFigures finalist_figures_of(SimulationRun run, const SloRequirement& requirement) {
  FinalistFigures figures = confidence_figures_of(run, requirement);
  if (run.scenario.max_concurrency || offered_rate_per_s(run.workload) <= 0) return figures;
  const Capacity capacity = capacity_of(run, requirement);
  figures.capacity_factor = capacity.load;
  figures.capacity_bounded = capacity.bounded;
  figures.capacity_monotone = capacity.monotone;
  if (capacity.load) figures.capacity_requests_needed = requests_needed(point_of(capacity));
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
        return confidence_figures_of(run, task.requirement);
      case FigureKind::finalist:
        return finalist_figures_of(std::move(run), task.requirement);
      case FigureKind::trial:
        break;
    }
    return figures_of(simulate_candidate(run), task.requirement);
  };
}

}  // namespace roofcast

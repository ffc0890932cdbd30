#include "planner/search/plan_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/scenario/simulation_run.hpp"

namespace roofcast {
namespace {

/// Indices of shapes with the same step floor.
using FloorGroup = std::vector<std::size_t>;

/// Groups by what the operators of a step depend on: the placement, not the scheduler.
std::vector<FloorGroup> floor_groups(const std::vector<PlannedShape>& shapes) {
  std::map<std::string, std::size_t> place;
  std::vector<FloorGroup> groups;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string key = placement_key(shapes[i].shape);
    const auto [at, first] = place.try_emplace(key, groups.size());
    if (first) groups.emplace_back();
    groups[at->second].push_back(i);
  }
  return groups;
}

/// The shape deployed, if it can run.
std::optional<Deployment> deployed(const PlanCatalogue& catalogue, PlannedShape& planned) {
  try {
    return deploy(catalogue, planned.shape);
  } catch (const Error& error) {
    planned.outcome = ShapeOutcome::cannot_run;
    planned.why = error.what();
  }
  return std::nullopt;
}

std::string too_slow_text(const ShapeBound& bound) {
  return fmt::format("{} is at least {}, even unloaded; the limit is {}", bound.what,
                     as_time(Seconds{bound.at_least_s}), as_time(Seconds{bound.limit_s}));
}

std::string beyond_limits_text(const PlannedShape& planned) {
  const std::string units = planned.shape.split.apart() ? "unit" : "replica";
  const std::string by = planned.limit.by.empty() ? "the search" : planned.limit.by;
  return fmt::format("needs at least {}; {} allows {}", counted(planned.bound.min_units, units), by,
                     planned.limit.units);
}

/// As simulations refuse replicas whose K and V a node's host memory does not hold.
void limit_by_host_memory(const Deployment& deployment, const MemoryPlan& plan,
                          PlannedShape& planned) {
  const auto most = most_replicas_in_host_memory(deployment, plan);
  if (!most) return;
  const PoolSplit& split = planned.shape.split;
  const std::int32_t of_a_pool = split.apart() ? std::max(split.prefill, split.decode) : 1;
  tighten(planned.limit, *most / of_a_pool, "a node's host memory");
}

/// Determines what needs no simulation. The first of a group that runs creates `floor`.
void look_at(const PlanCatalogue& catalogue, const PlanLoad& load, PlannedShape& planned,
             std::optional<StepFloor>& floor) {
  if (planned.outcome == ShapeOutcome::cannot_run) return;
  std::optional<Deployment> deployment = deployed(catalogue, planned);
  if (!deployment) return;
  MemoryPlan plan = plan_memory(*deployment);
  if (const auto most = max_num_seqs_that_starts(*deployment, plan);
      most && !planned.shape.overrides.max_num_seqs) {
    planned.shape.overrides.max_num_seqs = most;
    deployment = deployed(catalogue, planned);
    if (!deployment) return;
    plan = plan_memory(*deployment);
  }
  if (!plan.fits) {
    planned.outcome = ShapeOutcome::does_not_fit;
    planned.why = plan.reason;
    return;
  }
  try {
    if (!floor) floor.emplace(*deployment);
  } catch (const Error& error) {  // no link connects that many GPUs
    planned.outcome = ShapeOutcome::cannot_run;
    planned.why = error.what();
    return;
  }
  limit_by_host_memory(*deployment, plan, planned);
  planned.bound = bound_shape(planned.shape, deployment->engine, *floor, load);
  if (planned.bound.verdict == ShapeBound::Verdict::too_slow) {
    planned.outcome = ShapeOutcome::too_slow;
    planned.why = too_slow_text(planned.bound);
  } else if (planned.bound.min_units > planned.limit.units) {
    planned.outcome = ShapeOutcome::beyond_limits;
    planned.why = beyond_limits_text(planned);
  }
}

/// Where several engines or versions are searched, titles say which it is.
void title_engines(std::vector<Shape>& shapes) {
  const auto other = [&](const Shape& shape) { return shape.engine != shapes.front().engine; };
  if (std::ranges::none_of(shapes, other)) return;
  for (Shape& shape : shapes) shape.engine_title = engine_name(options_of(shape));
}

/// If nothing can run the input is bad: there is no answer.
void require_one_that_runs(const std::vector<PlannedShape>& shapes) {
  const auto runs = [](const PlannedShape& one) { return one.outcome != ShapeOutcome::cannot_run; };
  if (shapes.empty() || std::any_of(shapes.begin(), shapes.end(), runs)) return;
  throw UsageError(fmt::format("none of {} can run; {}: {}", counted(std::ssize(shapes), "shape"),
                               short_name(shapes.front().shape), shapes.front().why));
}

}  // namespace

std::string_view name_of(ShapeOutcome outcome) {
  switch (outcome) {
    case ShapeOutcome::cannot_run:
      return "cannot_run";
    case ShapeOutcome::does_not_fit:
      return "does_not_fit";
    case ShapeOutcome::too_slow:
      return "too_slow";
    case ShapeOutcome::beyond_limits:
      return "beyond_limits";
    case ShapeOutcome::searched:
      return "searched";
    case ShapeOutcome::more_expensive:
      return "more_expensive";
    case ShapeOutcome::misses:
      return "misses";
    case ShapeOutcome::ranked:
      break;
  }
  return "ranked";
}

std::vector<PlannedShape> unseen_shapes(const PlanCatalogue& catalogue, const PlanTask& question) {
  std::vector<PlannedShape> shapes;
  std::vector<Shape> all = shapes_of(question.space);
  title_engines(all);
  for (Shape& shape : all) {
    const Gpu& gpu = catalogue.gpus.at(shape.gpu).gpu;
    shape.gpu_title = gpu.display_name;
    PlannedShape planned{.shape = std::move(shape)};
    planned.needs = needs_of(planned.shape, gpu, question.limits);
    try {
      planned.unit_objective =
          objective_of(planned.needs, planned.shape, question.objective, question.limits);
    } catch (const UsageError& error) {  // its price or power is not known: plan the others
      planned.outcome = ShapeOutcome::cannot_run;
      planned.why = error.what();
      planned.unit_objective = static_cast<double>(planned.needs.gpus);
    }
    planned.limit = max_units(planned.needs, planned.shape.gpu, question.limits,
                              question.space.max_units / planned.shape.split.replicas());
    shapes.push_back(std::move(planned));
  }
  const auto unknown = [](const PlannedShape& one) {
    return one.outcome == ShapeOutcome::cannot_run;
  };
  if (!shapes.empty() && std::ranges::all_of(shapes, unknown)) throw UsageError(shapes.front().why);
  return shapes;
}

std::optional<std::vector<PlannedShape>> plan_shapes(const PlanCatalogue& catalogue,
                                                     const PlanTask& question, int threads,
                                                     const Progress& progress) {
  std::vector<PlannedShape> shapes = unseen_shapes(catalogue, question);
  const PlanLoad load = plan_load(catalogue.workload, catalogue.base.max_concurrency.has_value(),
                                  catalogue.base.slo, question.requirement);
  const std::vector<FloorGroup> groups = floor_groups(shapes);
  const auto one_group = [&](std::int64_t group) {
    std::optional<StepFloor> floor;
    for (const std::size_t i : groups[static_cast<std::size_t>(group)]) {
      look_at(catalogue, load, shapes[i], floor);
    }
  };
  if (!for_each_index(std::ssize(groups), threads, one_group, progress)) return std::nullopt;
  require_one_that_runs(shapes);
  return shapes;
}

}  // namespace roofcast

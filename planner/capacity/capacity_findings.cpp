#include "planner/capacity/capacity_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/statistics.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

// ---- the search

/// Searches, then keeps the number of requests that the verdict at the capacity took, for all that
/// is compared with it.
void search(CapacityFindings& answer, Execution& execution) {
  answer.capacity = capacity_of(answer.study, execution);
  answer.study = with_requests(std::move(answer.study), point_of(answer.capacity).requests);
}

// ---- confidence

/// The standard deviation of each pool's steps, needed for perturbed simulations.
void take_uncertainty(LoadStudy& study, const SimulationRun& run) {
  for (std::size_t i = 0; i < study.run.pools.size(); ++i) {
    study.run.pools[i].step_uncertainty = run.pools[i].step_uncertainty;
  }
}

/// The study with the error of the engine's version in each pool's step times: all that makes steps
/// slower is then off at once, as likely as one input alone.
LoadStudy with_versions(LoadStudy study) {
  for (PoolRun& pool : study.run.pools) {
    pool.step_uncertainty = std::hypot(pool.step_uncertainty, version_deviation(pool.deployment));
  }
  return study;
}

std::optional<double> capacity_deviating(const CapacityFindings& answer,
                                         const Deviations& deviations, Execution& execution) {
  const Simulation simulation = [&](const SimulationRun& run) {
    return simulate_deviating(run, step_times_of(run), deviations, {});
  };
  // With the minimum number of requests: only the ratios of the results matter.
  const LoadStudy study = with_versions(with_requests(answer.study, 0));
  return capacity_near(study, *answer.capacity.load, simulation, execution).load;
}

/// The inputs that set how fast requests pass through a server.
constexpr std::array kSpeeds = {&Deviations::step_time, &Deviations::per_request};

/// Each speed is moved alone. They are off independently, so what they add to the logarithm of the
/// capacity adds in squares, as in intervals of latencies (planner/verdict/intervals.hpp).
void add_interval(CapacityFindings& answer, Execution& execution) {
  // If verdicts alternate with the load there is no single boundary to move.
  if (!answer.capacity.load || !answer.capacity.monotone) return;
  const double load = *answer.capacity.load;
  // The baseline, from runs of the same fixed length: only the change matters.
  const auto same = capacity_deviating(answer, {}, execution);
  if (!same) return;
  double below = 0, above = 0;  // of the logarithm
  for (const auto speed : kSpeeds) {
    Deviations slower, faster;
    slower.*speed = kIntervalDeviations;
    faster.*speed = -kIntervalDeviations;
    const double least = capacity_deviating(answer, slower, execution).value_or(0);
    const double most = capacity_deviating(answer, faster, execution).value_or(0);
    below = std::hypot(below, std::log(*same / std::min(*same, least)));
    above = std::hypot(above, std::log(std::max(*same, most) / *same));
  }
  answer.low = load * std::exp(-below);
  answer.high = load * std::exp(above);
}

/// The asked load as the search found it, if it simulated it until its verdict stood.
std::optional<LoadPoint> searched_asked(const CapacityFindings& answer) {
  if (!answer.study.grows() || !answer.capacity.load) return std::nullopt;
  const std::vector<LoadPoint>& points = answer.capacity.points;
  const auto found = std::ranges::find(points, answer.study.load_of_run, &LoadPoint::load);
  return found == points.end() ? std::nullopt : std::optional(*found);
}

void add_asked(CapacityFindings& answer, Execution& execution) {
  if (!answer.study.asked) return;
  const std::array loads = {answer.study.load_of_run};
  answer.asked = searched_asked(answer);
  if (!answer.asked) answer.asked = steady_trial_of(answer.study, execution)(loads).front();
  const LoadStudy study = with_requests(answer.study, answer.asked->requests);
  SimulationRun run = at_load(study, study.load_of_run);
  run_all(execution, 1, [&](std::int64_t) {
    simulate_sampled(run, step_times_of(run), {});
    return 0;
  });
  answer.asked_use = utilisation_of(run.pools);
  answer.confidence = confidence_of(run, study.requirement, execution.threads, execution.ticks());
  if (!answer.confidence) throw_interrupted();
  execution.simulations += answer.confidence->simulations;
}

// ---- limits

/// The load at which limits are judged: the least known to fail, or the capacity if none is.
const LoadPoint& point_at_limit(const Capacity& capacity) {
  const double holding = capacity.load.value_or(0);
  const auto failing = std::ranges::find_if(capacity.points, [&](const LoadPoint& point) {
    return !point.verdict.holds && point.load > holding;
  });
  return failing == capacity.points.end() ? point_of(capacity) : *failing;
}

void add_limits(CapacityFindings& answer, const CapacityRequest& request, Execution& execution) {
  const LoadPoint& point = point_at_limit(answer.capacity);
  answer.limit_load = point.load;
  answer.limit_requests = point.requests;
  // With the requests of the point, or its figures would be others than those of the limits.
  SimulationRun run = at_load(with_requests(answer.study, point.requests), answer.limit_load);
  const auto account = run_all(execution, 1, [&](std::int64_t) {
    return simulate_with_account(run, step_times_of(run), {});
  });
  take_uncertainty(answer.study, run);
  answer.limit_use = utilisation_of(run.pools);
  auto report = report_limits(run, account.front(), execution.threads, execution.ticks());
  if (!report) throw_interrupted();
  answer.limits = std::move(*report);
  execution.simulations += std::ssize(answer.limits.gains);
  if (!request.explain || !answer.capacity.load) return;
  // Same search as with relaxed limits, so that a limit without effect shows no difference.
  answer.unrelaxed =
      capacity_near(answer.study, *answer.capacity.load, simulate_run, execution).load;
  for (const LimitGain& gain : answer.limits.gains) {
    const Simulation simulation = [&](const SimulationRun& at) {
      return simulate_relaxed(at, account.front(), gain.use.kind);
    };
    const Capacity relaxed =
        capacity_near(answer.study, *answer.capacity.load, simulation, execution);
    answer.relaxed.push_back({gain.use.kind, relaxed.load});
  }
  // That search starts elsewhere than the capacity's, and ends elsewhere within its tolerance: what
  // counts is the change.
  if (!answer.unrelaxed) return;
  const double same = *answer.capacity.load / *answer.unrelaxed;
  for (RelaxedCapacity& relaxed : answer.relaxed) {
    if (relaxed.load) *relaxed.load *= same;
  }
  answer.unrelaxed = answer.capacity.load;
}

/// Adds some loads beyond the capacity and drops points that are close together.
void add_curve(CapacityFindings& answer, Execution& execution) {
  constexpr std::array kBeyond = {1.1, 1.25, 1.5};
  constexpr double kMinSpacing = 1.08;
  std::vector<LoadPoint> points = answer.capacity.points;
  if (answer.capacity.load && answer.capacity.bounded) {
    std::vector<double> loads;
    for (const double share : kBeyond) loads.push_back(*answer.capacity.load * share);
    if (answer.study.kind == LoadKind::concurrency) {
      for (double& load : loads) load = std::ceil(load);
      loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
    }
    for (LoadPoint& point : steady_trial_of(answer.study, execution)(loads)) {
      points.push_back(std::move(point));
    }
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const LoadPoint& a, const LoadPoint& b) { return a.load < b.load; });
  // One that holds above the capacity is why the capacity is said not to be the last.
  const auto matters = [&](const LoadPoint& point) {
    return point.load == answer.capacity.load || point.load == answer.limit_load ||
           (answer.asked && point.load == answer.asked->load) ||
           (point.verdict.holds && point.load > answer.capacity.load.value_or(point.load));
  };
  double last = 0;
  for (const LoadPoint& point : points) {
    if (point.load == last || (!matters(point) && point.load < kMinSpacing * last)) continue;
    last = point.load;
    answer.curve.push_back(point);
  }
}

// ---- cost

void add_cost(CapacityFindings& answer, Execution& execution) {
  answer.cost = answer.capacity.load ? cost_at(answer.study, *answer.capacity.load, execution).cost
                                     : cost_of(answer.study.run.pools, {});
}

// ---- one replica fewer

/// The run without the last replica of a pool, and without that replica's failures.
SimulationRun without_replica(const SimulationRun& run, std::size_t pool) {
  SimulationRun smaller{.scenario = run.scenario, .pools = run.pools, .workload = run.workload};
  smaller.stopped = run.stopped;
  PoolScenario& asked = smaller.scenario.cluster->pools[pool];
  --asked.replicas;
  --smaller.pools[pool].replicas;
  std::erase_if(smaller.scenario.cluster->failures, [&](const Failure& failure) {
    return failure.pool == static_cast<std::int32_t>(pool) && failure.replica == asked.replicas;
  });
  return smaller;
}

LostReplica lose(const CapacityFindings& answer, std::size_t pool, Execution& execution) {
  const PoolRun& whole = answer.study.run.pools[pool];
  LostReplica lost{.pool = whole.name, .left = whole.replicas - 1};
  if (lost.left == 0) return lost;
  LoadStudy study = answer.study;
  study.run = without_replica(answer.study.run, pool);
  if (study.asked) {
    const std::array loads = {study.load_of_run};
    lost.asked = trial_of(study, simulate_run, execution)(loads).front();
  }
  const double share = static_cast<double>(lost.left) / static_cast<double>(whole.replicas);
  lost.capacity =
      capacity_near(study, point_of(answer.capacity).load * share, simulate_run, execution);
  return lost;
}

void add_losses(CapacityFindings& answer, Execution& execution) {
  for (std::size_t i = 0; i < answer.study.run.pools.size(); ++i) {
    const auto& cluster = answer.study.run.scenario.cluster;
    if (cluster && i < cluster->pools.size() && cluster->pools[i].autoscaling) {
      answer.notes.push_back("pool " + cluster->pools[i].name +
                             " autoscales: the loss of a replica is not simulated");
      continue;
    }
    answer.lost.push_back(lose(answer, i, execution));
  }
}

/// "500 sessions of 8 turns", "2,000 requests"
std::string counted_arrivals(const Workload& workload) {
  const auto requests = std::ssize(workload.requests);
  const auto starts = std::ranges::count(workload.requests, kNoRequest, &Request::follows);
  return starts == requests
             ? counted(requests, "request")
             : fmt::format("{} ({})", counted(starts, "session"), counted(requests, "request"));
}

/// That the verdict at the capacity does not stand.
void add_doubt(CapacityFindings& answer) {
  const LoadPoint& point = point_of(answer.capacity);
  if (!answer.capacity.load || !point.verdict.undecided) return;
  const LoadStudy& study = answer.study;
  answer.doubt = fmt::format("Too few to be sure: with {} the verdict there is {}.",
                             counted_arrivals(study.run.workload), point.verdict.finding);
  if (!study.grows() && may_grow(study.growing->scenario())) {
    answer.doubt +=
        " Without their number (`num_prompts`) the run is made longer until its verdict stands.";
  }
}

}  // namespace

CapacityFindings capacity_findings(LoadStudy study, const CapacityRequest& request,
                                   Execution& execution) {
  CapacityFindings answer{.study = std::move(study)};
  answer.study.run.stopped = execution.stopped;
  search(answer, execution);
  add_asked(answer, execution);
  add_limits(answer, request, execution);
  add_curve(answer, execution);
  if (holds_again(answer.curve)) answer.capacity.monotone = false;
  add_interval(answer, execution);
  add_cost(answer, execution);
  if (request.lose_one) add_losses(answer, execution);
  throw_if_stopped(answer.study.run);
  answer.study.run.stopped = {};  // refers to the execution, which may end first
  add_doubt(answer);
  return answer;
}

LoadCost cost_at(const LoadStudy& study, double load, Execution& execution) {
  SimulationRun run = at_load(study, load);
  run_all(execution, 1, [&](std::int64_t) {
    simulate_sampled(run, step_times_of(run), {});
    return 0;
  });
  run.result.saturation.undecided = false;  // the load holds by the verdict of the search
  const PoolRun& pool = run.pools.front();
  return {.cost = cost_of(run.pools, run.result),
          .step_sources = pool.step_sources,
          .step_uncertainty = combined_deviation(pool.step_causes)};
}

bool holds(const CapacityFindings& answer) {
  const auto missed = [](const std::optional<LoadPoint>& point) {
    return point && !point->verdict.holds;
  };
  const bool loses = std::any_of(
      answer.lost.begin(), answer.lost.end(),
      [&](const LostReplica& lost) { return !lost.capacity.load || missed(lost.asked); });
  return answer.capacity.load && !missed(answer.asked) && !loses;
}

std::optional<double> headroom_of(const CapacityFindings& answer) {
  if (!answer.asked || !answer.capacity.load) return std::nullopt;
  return *answer.capacity.load / answer.asked->load;
}

}  // namespace roofcast

#include "planner/capacity/load_study.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "planner/load/offered_load.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

constexpr int kLoadsAtOnce = 2;  // per search round, whatever the number of threads

bool is_steady(const SyntheticWorkload& synthetic) {
  return std::holds_alternative<SteadyRate>(synthetic.pattern);
}

/// Whether synthetic requests arrive all at once, without a client's limit.
bool asks_no_load(const Scenario& scenario) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  return synthetic != nullptr && is_steady(*synthetic) && std::isinf(synthetic->request_rate) &&
         !scenario.max_concurrency;
}

/// Gives requests without a rate one that the study can scale.
void give_rate(SyntheticWorkload& synthetic) {
  synthetic.request_rate = 1;
  synthetic.any_rate = true;
}

/// Keeps a rate that was not given out of the question that is printed and stored.
void take_rate(Scenario& scenario) {
  auto& synthetic = std::get<SyntheticWorkload>(scenario.workload);
  synthetic.request_rate = kAllAtOnce;
  synthetic.any_rate = false;
}

/// Arrivals per second as given by the user, else as measured.
double rate_of(const SimulationRun& run) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&run.scenario.workload);
  const bool stated = synthetic != nullptr && is_steady(*synthetic) && !synthetic->sessions;
  return stated ? synthetic->request_rate : offered_rate_per_s(run.workload);
}

/// Maximum number of requests that the engines may run at once.
double max_running(const SimulationRun& run) {
  double running = 0;
  for (const PoolRun& pool : run.pools) {
    if (pool.role == PoolRole::prefill) continue;
    const double engines = static_cast<double>(pool.replicas) * pool.deployment.parallel.data;
    running += engines * static_cast<double>(pool.deployment.engine.max_num_seqs);
  }
  return running;
}

/// The lowest and the greatest load of a search around a guess. At a thousandth of the maximum
/// throughput requests run alone.
CapacitySearch question_around(const LoadStudy& study, double guess) {
  constexpr double kAlone = 1024;
  constexpr double kFar = 64;
  CapacitySearch question{.guess = guess, .at_once = kLoadsAtOnce};
  if (study.kind == LoadKind::rate) {
    question.min = guess / kAlone;
    question.greatest = guess * kFar;
    return question;
  }
  question.whole = true;
  question.min = 1;
  const std::size_t drawn = study.run.workload.requests.size();
  question.greatest = static_cast<double>(drawn);
  question.guess = std::clamp(std::round(guess), question.min, question.greatest);
  return question;
}

/// Loads from low to the guess, for the curve, and the asked one. The most that an engine can run
/// says nothing about a useful concurrency, so concurrencies only go up to the asked one.
std::vector<double> loads_on_the_way(const LoadStudy& study, double guess) {
  const double max = study.kind == LoadKind::rate ? guess : study.load_of_run;
  std::vector<double> loads;
  for (const double share : {0.1, 0.25, 0.5, 0.75}) loads.push_back(share * max);
  if (study.asked) loads.push_back(study.load_of_run);
  return loads;
}

CapacitySearch question_near(const LoadStudy& study, double load) {
  constexpr double kNear = 1.2;
  CapacitySearch question = question_around(study, load);
  question.guess = std::min(question.guess * std::sqrt(kNear), question.greatest);
  question.stride = kNear;
  return question;
}

/// The capacity with those of other points that agree with it, for the curve.
Capacity with_others(Capacity capacity, const std::vector<LoadPoint>& others) {
  constexpr double kMinSpacing = 1.02;
  std::vector<LoadPoint>& points = capacity.points;
  const double holding = capacity.load.value_or(0);
  const auto failing = std::ranges::find_if(
      points, [&](const LoadPoint& point) { return !point.verdict.holds && point.load > holding; });
  const double beyond = failing == points.end() ? holding : failing->load;
  std::vector<LoadPoint> agreeing;
  for (const LoadPoint& point : others) {
    const bool known = std::ranges::find(points, point.load, &LoadPoint::load) != points.end();
    const bool below = point.load * kMinSpacing < holding && point.verdict.holds;
    const bool above = point.load > kMinSpacing * beyond && !point.verdict.holds;
    if (!known && (below || above)) agreeing.push_back(point);
  }
  points.insert(points.end(), agreeing.begin(), agreeing.end());
  std::ranges::sort(points, {}, &LoadPoint::load);
  return capacity;
}

/// Throughput with all requests at once, requests/s.
double throughput_of(const LoadStudy& study, Execution& execution) {
  SimulationRun run = at_load(study, study.load_of_run);
  run.workload = all_at_once(run.workload);
  const auto rates =
      run_all(execution, 1, [&](std::int64_t) { return simulate_run(run).request_rate_per_s; });
  throw_if_stopped(run);
  return rates.front();
}

}  // namespace

Scenario with_load(const Scenario& scenario) {
  Scenario studied = with_pooled_output(scenario);
  if (asks_no_load(scenario)) give_rate(std::get<SyntheticWorkload>(studied.workload));
  return studied;
}

LoadStudy study_of(const Scenario& scenario, const SloRequirement& requirement, bool free_length) {
  LoadStudy study{.asked = !asks_no_load(scenario), .requirement = requirement};
  Scenario studied = with_load(scenario);
  const bool grows = free_length && may_grow(studied);
  if (grows) set_arrivals(studied, first_arrivals(studied));
  study.requirement.sample = is_sample(studied);
  study.requirement.must_stand = grows;
  study.run = prepare_simulation(studied);
  if (!study.run.refusal.empty()) return study;
  study.load_of_run = rate_of(study.run);
  study.growing = std::make_shared<const GrowingLoad>(studied, study.run.workload, grows);
  if (!study.asked) take_rate(study.run.scenario);
  const bool has_rate = offered_rate_per_s(study.run.workload) > 0;
  if (has_rate) return study;
  if (!study.run.scenario.max_concurrency) {
    if (std::ssize(study.run.workload.requests) < 2) {
      throw Error("a single request has no rate; expected at least two (`num_prompts`)");
    }
    throw Error(
        "all requests arrive at once, so there is no rate to vary; expected arrivals at different "
        "times, or `max_concurrency`");
  }
  study.kind = LoadKind::concurrency;
  study.load_of_run = static_cast<double>(*study.run.scenario.max_concurrency);
  return study;
}

SimulationRun at_load(const LoadStudy& study, double load) {
  SimulationRun run{.scenario = study.run.scenario, .pools = study.run.pools};
  run.stopped = study.run.stopped;
  if (study.kind == LoadKind::rate) {
    run.workload = at_factor(study.run.workload, load / study.load_of_run);
    return run;
  }
  run.workload = study.run.workload;
  run.scenario.max_concurrency = std::llround(load);
  return run;
}

LoadTrial trial_of(const LoadStudy& study, const Simulation& simulation, Execution& execution) {
  // Runs of a fixed length, judged without extending them.
  SloRequirement requirement = study.requirement;
  requirement.must_stand = false;
  return [&study, simulation, &execution, requirement](std::span<const double> loads) {
    auto points = run_all(execution, std::ssize(loads), [&](std::int64_t i) {
      const double load = loads[static_cast<std::size_t>(i)];
      return load_point(load, simulation(at_load(study, load)), requirement);
    });
    throw_if_stopped(study.run);
    return points;
  };
}

SteadyQuestion steady_question(const LoadStudy& study, double load) {
  return {.load = study.grows() ? study.growing.get() : nullptr,
          .factor = study.kind == LoadKind::rate ? load / study.load_of_run : 1,
          .most = study.grows() ? study.growing->limits().search : 0,
          .requirement = study.requirement};
}

LoadTrial steady_trial_of(const LoadStudy& study, Execution& execution) {
  const auto throughput = std::make_shared<KnownThroughput>();
  return [&study, &execution, throughput](std::span<const double> loads) {
    auto points = run_all(execution, std::ssize(loads), [&](std::int64_t i) {
      const double load = loads[static_cast<std::size_t>(i)];
      SimulationRun run = at_load(study, load);
      SteadyQuestion question = steady_question(study, load);
      question.throughput = throughput.get();
      const SloVerdict verdict = simulate_until_decided(
          run, question, [](SimulationRun& one) { one.result = simulate_run(one); });
      LoadPoint point = load_point(load, run.result, study.requirement);
      point.verdict = verdict;
      return point;
    });
    throw_if_stopped(study.run);
    return points;
  };
}

Capacity capacity_of(const LoadStudy& study, Execution& execution) {
  double guess = max_running(study.run);
  if (study.kind == LoadKind::rate) {
    guess = throughput_of(study, execution);
    // Nothing is served at any load: the least load shows why.
    if (guess <= 0) guess = study.load_of_run;
  }
  CapacitySearch question = question_around(study, guess);
  question.also = loads_on_the_way(study, question.guess);
  Capacity found = find_capacity(trial_of(study, simulate_run, execution), question);
  if (!study.grows() || !found.load) return found;
  // Near the capacity verdicts need many requests: only there, and for the asked load, are they
  // simulated.
  CapacitySearch near = question_near(study, *found.load);
  near.guess = *found.load;
  near.stride = kStandingStride;
  if (study.asked) near.also = {study.load_of_run};
  return with_others(find_capacity(steady_trial_of(study, execution), near), found.points);
}

Capacity capacity_near(const LoadStudy& study, double load, const Simulation& simulation,
                       Execution& execution) {
  return find_capacity(trial_of(study, simulation, execution), question_near(study, load));
}

LoadStudy with_requests(LoadStudy study, std::int64_t requests) {
  if (!study.grows()) return study;
  const std::int64_t first = study.growing->first();
  const auto least = std::ssize(study.growing->of(first)->requests);
  std::int64_t arrivals = first;
  const std::int64_t most = study.growing->limits().search;
  for (; 2 * arrivals <= most; arrivals *= 2) {
    if (std::ssize(study.growing->of(arrivals)->requests) >= requests) break;
  }
  if (requests <= least) arrivals = first;
  study.run.workload = *study.growing->of(arrivals);
  set_arrivals(study.run.scenario, arrivals);
  return study;
}

}  // namespace roofcast

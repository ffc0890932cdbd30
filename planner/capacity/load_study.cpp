#include "planner/capacity/load_study.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "planner/capacity/offered_load.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

constexpr int kLoadsAtOnce = 2;  // per search round, whatever the number of threads

bool is_steady(const SyntheticWorkload& synthetic) {
  return std::holds_alternative<SteadyRate>(synthetic.pattern);
}

bool is_at_once(const SyntheticWorkload& synthetic) {
  return is_steady(synthetic) && std::isinf(synthetic.request_rate);
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
  question.greatest = static_cast<double>(study.run.workload.requests.size());
  question.guess = std::clamp(std::round(guess), question.min, question.greatest);
  return question;
}

/// Loads from low to the guess, for the curve, and the asked one. The most that an engine can run
/// at once is no estimate of a useful concurrency, so concurrencies only go up to the asked one.
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

LoadStudy study_of(const Scenario& scenario, const SloRequirement& requirement, bool free_length) {
  LoadStudy study{.asked = true, .requirement = requirement};
  study.requirement.must_keep_up = true;
  Scenario studied = scenario;
  if (auto* synthetic = std::get_if<SyntheticWorkload>(&studied.workload)) {
    if (is_at_once(*synthetic) && !studied.max_concurrency) {
      give_rate(*synthetic);
      study.asked = false;
    }
    study.grows = free_length && is_steady(*synthetic) && !synthetic->sessions;
    if (study.grows) synthetic->num_prompts = kMinRequests;
  }
  study.run = prepare_simulation(studied);
  if (!study.run.refusal.empty()) return study;
  study.load_of_run = rate_of(study.run);
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

SimulationResult simulate_run(const SimulationRun& run) {
  return simulate_deviating(run, step_times_of(run), {}, {});
}

void throw_interrupted() { throw Error("interrupted before an answer; nothing was stored"); }

void throw_if_stopped(const SimulationRun& run) {
  if (run.stopped && run.stopped()) throw_interrupted();
}

LoadTrial trial_of(const LoadStudy& study, const Simulation& simulation, Execution& execution) {
  return [&study, simulation, &execution](std::span<const double> loads) {
    auto points = run_all(execution, std::ssize(loads), [&](std::int64_t i) {
      const double load = loads[static_cast<std::size_t>(i)];
      return load_point(load, simulation(at_load(study, load)), study.requirement);
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
  return find_capacity(trial_of(study, simulate_run, execution), question);
}

Capacity capacity_confirmed(const LoadStudy& study, double load, Execution& execution) {
  CapacitySearch question = question_near(study, load);
  question.also = loads_on_the_way(study, load);
  return find_capacity(trial_of(study, simulate_run, execution), question);
}

Capacity capacity_near(const LoadStudy& study, double load, const Simulation& simulation,
                       Execution& execution) {
  return find_capacity(trial_of(study, simulation, execution), question_near(study, load));
}

std::int64_t requests_needed(const LoadPoint& point) {
  return std::llround(std::ceil(kStays * point.request_rate_per_s * point.e2e.mean));
}

LoadStudy with_requests(LoadStudy study, std::int64_t requests) {
  assert(study.grows);
  auto& synthetic = std::get<SyntheticWorkload>(study.run.scenario.workload);
  synthetic.num_prompts = requests;
  if (!study.asked) give_rate(synthetic);
  study.run.workload = load_workload(study.run.scenario);
  if (!study.asked) take_rate(study.run.scenario);
  return study;
}

}  // namespace roofcast

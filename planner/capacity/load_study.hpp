// A deployment under scaled versions of one load: the scenario's own requests, faster or slower, or
// more or fewer of them in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "planner/capacity/capacity.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/verdict/steady_run.hpp"

namespace roofcast {

/// What is scaled.
enum class LoadKind {
  rate,        // arrivals a second
  concurrency  // requests in flight, in a closed loop: each sent when another completes
};

/// A scenario's run before its simulation, and its load.
struct LoadStudy {
  SimulationRun run{};  // at the asked load; at 1 arrival/s if there is none
  LoadKind kind = LoadKind::rate;
  double load_of_run = 1;  // in the kind's unit
  bool asked = false;      // whether that load was asked for
  /// Its requests, as many as a verdict needs if their number is free.
  std::shared_ptr<const GrowingLoad> growing{};
  SloRequirement requirement{};

  bool grows() const { return growing && growing->grows(); }
};

/// The scenario as a study scales its load: synthetic requests that ask for no load are given a
/// rate.
Scenario with_load(const Scenario& scenario);

/// The study of a scenario, or only the scenario's refusal (run.refusal) if it has one. Requests
/// that arrive all at once under a client's limit form a closed loop, whose limit is the load.
/// Without a limit they ask for no load, and synthetic requests are given a rate. `free_length`:
/// the number of synthetic requests is free. Throws Error for requests without a rate.
LoadStudy study_of(const Scenario& scenario, const SloRequirement& requirement, bool free_length);

/// The run at another load with the study's requests, not simulated yet.
SimulationRun at_load(const LoadStudy& study, double load);

/// What decides the verdict at `load`, with as many of the study's requests as it takes.
SteadyQuestion steady_question(const LoadStudy& study, double load);

/// Simulates a run in some way: as it is, with perturbed inputs, with a relaxed limit. Called from
/// several threads.
using Simulation = std::function<SimulationResult(const SimulationRun&)>;

/// How the simulations of a study are executed, and their count.
struct Execution {
  int threads = 1;
  std::function<bool(std::int64_t)> progress{};  // gets the count so far; false cancels
  /// Called within simulations and from several threads; true cancels, and it must then stay true.
  /// `progress` is also checked between simulations.
  std::function<bool()> stopped{};
  std::int64_t simulations = 0;

  /// For work that runs additional simulations, counted from the current number.
  Progress ticks() const {
    return [this](std::int64_t done, std::int64_t) {
      return !progress || progress(simulations + done);
    };
  }
};

/// fn(i), one simulation each, for i in [0, count). Throws Error if the progress cancels.
template <class Fn>
auto run_all(Execution& execution, std::int64_t count, const Fn& fn) {
  auto answers = answers_here_or_on(count, execution.threads, fn, execution.ticks());
  if (!answers) throw_interrupted();
  execution.simulations += count;
  return std::move(*answers);
}

/// Simulates loads of the study, each with the study's requests. Throws Error if the progress
/// cancels.
LoadTrial trial_of(const LoadStudy& study, const Simulation& simulation, Execution& execution);

/// Simulates each load until its verdict stands (simulate_until_decided), with as many requests as
/// searches may.
LoadTrial steady_trial_of(const LoadStudy& study, Execution& execution);

/// First step of a search for verdicts that stand, from the capacity that short runs found.
inline constexpr double kStandingStride = 1.03;

/// The study's capacity, with no prior estimate: the first guess is the throughput of all requests
/// at once. Some loads below it and the asked one are tried too, so that the capacity lies below
/// every one that fails. Near the capacity and at the asked load, if their number of requests is
/// free, loads are simulated until their verdicts stand.
Capacity capacity_of(const LoadStudy& study, Execution& execution);

/// The capacity, expected near `load`, found by the given kind of simulation of the study's
/// requests.
Capacity capacity_near(const LoadStudy& study, double load, const Simulation& simulation,
                       Execution& execution);

/// The same study with at least that many requests (LoadPoint::requests); 0: the fewest. No
/// effect if it does not grow.
LoadStudy with_requests(LoadStudy study, std::int64_t requests);

}  // namespace roofcast

// A deployment under more or less of one load: the scenario's own requests, faster or slower, or
// more of them in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "planner/answers_on.hpp"
#include "planner/capacity/capacity.hpp"
#include "planner/scenario_run.hpp"

namespace roofcast {

/// What is scaled.
enum class LoadKind {
  rate,        // arrivals a second
  concurrency  // requests in flight, of a closed loop: each sent when another is answered
};

/// A scenario's run up to its simulation, with what its load is.
struct LoadStudy {
  SimulationRun run{};  // at the load that was asked for; at 1 arrival a second when none was
  LoadKind kind = LoadKind::rate;
  double load_of_run = 1;  // in the kind's unit
  bool asked = false;      // whether that load was asked for
  bool grows = false;      // whether its number of requests is free
  SloRequirement requirement{.must_keep_up = true};
};

/// Least requests that a study draws when their number is free. A hundred then lie beyond the 95th
/// percentile, and its rank has a standard deviation of 0.5 %.
inline constexpr std::int64_t kMinRequests = 2000;

/// Most requests that a study draws by itself.
inline constexpr std::int64_t kMaxDrawn = 20'000;

/// A run tells of a steady load when requests come for so many times as long as one stays: the
/// engine has filled after a few of these, and the rest shows how it then fares.
inline constexpr double kStays = 10;

/// The study of a scenario, as far as the scenario's refusal (run.refusal) if it has one. All at
/// once under a client's limit is a closed loop, whose limit is the load. All at once without one
/// asks for no load, and synthetic requests are given a rate. `free_length`: the number of
/// synthetic requests is free. Throws Error for requests that have no rate.
LoadStudy study_of(const Scenario& scenario, const SloRequirement& requirement, bool free_length);

/// The run at another load, without a result.
SimulationRun at_load(const LoadStudy& study, double load);

/// Simulates a run somehow: as it is, with numbers that are off, with a limit relaxed. Called from
/// several threads.
using Simulation = std::function<SimulationResult(const SimulationRun&)>;

SimulationResult simulate_plainly(const SimulationRun& run);

/// How the simulations of a study are carried out, and how many there were.
struct Execution {
  int threads = 1;
  std::function<bool(std::int64_t)> progress{};  // gets the number so far; false ends the work
  /// Asked from within simulations and from several threads, and once true never false again: true
  /// ends the work. Between simulations `progress` is asked as well.
  std::function<bool()> stopped{};
  std::int64_t simulations = 0;

  /// For work of which so many simulations come on top.
  ProgressFunction ticks() const {
    return [this](std::int64_t done, std::int64_t) {
      return !progress || progress(simulations + done);
    };
  }
};

/// Throws Error: the user ended the work.
[[noreturn]] void throw_interrupted();

/// The same where the run's simulations were ended from within.
void throw_if_stopped(const SimulationRun& run);

/// What fn(i), one simulation each, answers for i in [0, count). Throws Error once the progress
/// ends it.
template <class Fn>
auto carried_out(Execution& execution, std::int64_t count, const Fn& fn) {
  auto answers = answers_on(execution.threads, count, fn, execution.ticks());
  if (!answers) throw_interrupted();
  execution.simulations += count;
  return std::move(*answers);
}

/// Tries loads of the study. Throws Error once the progress ends it.
LoadTrial trial_of(const LoadStudy& study, const Simulation& simulation, Execution& execution);

/// The study's capacity, wherever it is: the guess is what the deployment makes of all requests at
/// once. Some loads on the way there and the one asked for are tried too: none above one that fails
/// is the capacity.
Capacity capacity_of(const LoadStudy& study, Execution& execution);

/// The capacity where it is expected near a load, found by simulations of some kind.
Capacity capacity_near(const LoadStudy& study, double load, const Simulation& simulation,
                       Execution& execution);

/// The same, as it is, with loads on the way there tried too.
Capacity capacity_again(const LoadStudy& study, double load, Execution& execution);

/// Requests that the study needs to tell of the steady state at a point, by Little's law (Little
/// 1961): those that are there at a time, kStays times.
std::int64_t requests_needed(const LoadPoint& point);

/// The same study with more requests drawn. Precondition: it grows.
LoadStudy with_requests(LoadStudy study, std::int64_t requests);

}  // namespace roofcast

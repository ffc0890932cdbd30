// Simulates a load on a deployment, request by request: latencies, throughput, whether the SLO
// holds and whether the engine keeps up.
//
//   SimulationQuestion question{.scenario = read_scenario("chat.json")};
//   const SimulationAnswer answer = simulate(question);
//   if (is_yes(answer)) std::cout << answer.load.ttft.p95 << " s\n";
//
// Fields of an answer are described by its `members`, key by key (simulate.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/progress.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/scenario/deployment_description.hpp"
#include "planner/scenario/pool_description.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/verdict/intervals.hpp"
#include "planner/verdict/steady_run.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/limits.hpp"

namespace roofcast {

/// Whether intervals of the latencies are wanted: 13 to 20 further simulations, with the
/// probability that the SLO is met.
enum class Intervals {
  none,
  of_small_loads,  // of at most kSmallLoad requests (about a second of processor time), or of as
                   // many as the verdict took if their number is free
  always
};

inline constexpr std::int64_t kSmallLoad = 20'000;  // requests

struct SimulationQuestion {
  Scenario scenario{};  // deployment, load, SLO and seed
  /// Whether the number of synthetic requests is free: as many are drawn as the verdict needs
  /// (planner/verdict/steady_run.hpp), at most `max_requests`.
  bool free_length = false;
  std::int64_t max_requests = kRequestLimits.one;
  bool explain = false;  // find what limits it: simulate again with 10 % more of each limit
  Intervals intervals = Intervals::none;  // and the probability that the SLO is met
  /// The scenario's workload if already loaded; unset: read or drawn as the scenario says.
  std::optional<Workload> recorded{};
};

struct SimulationInputs {
  std::string model{};
  std::optional<DeploymentInputs> deployment{};  // set if equal in all pools
  std::optional<std::string> profile_hash{};     // set if equal in all pools
  std::vector<PoolInputs> pools{};
  Scenario scenario{};
};

struct SimulatedWorkload {
  std::string description{};  // human-readable
  std::int64_t requests = 0;
  std::int64_t requests_unreported = 0;   // in the warm-up
  std::int64_t rows_skipped = 0;          // in the trace
  std::optional<bool> shares_prefixes{};  // always set, except by earlier versions
  std::vector<std::string> notes{};
};

struct SimulatedSlo {
  /// Whether the SLO is met (judge() of simulator/results/verdict.hpp); without an SLO, whether
  /// anything was served and the engine kept up with the load. Unset: the run was stopped.
  std::optional<bool> met{};
  std::vector<TargetOutcome> targets{};  // read back: what the JSON has of each
  /// Probability that the SLO is met, given the uncertainty of its inputs (kUncertainInputs in
  /// planner/scenario/simulation_run.hpp; Confidence in planner/verdict/confidence.hpp). Set with
  /// `intervals`, if there are targets.
  std::optional<double> probability{};
  /// Why a longer run may give another verdict; unset if it stands.
  std::optional<std::string> undecided{};
  /// "1 of 2 targets missed"; empty if met. Not in the JSON; empty when read back.
  std::string why_not{};
};

struct SimulatedEngine : EngineUse {
  std::optional<std::int64_t> kv_blocks{};  // set if equal in all pools
};

struct SimulationAnswer {
  AnswerHead head{};
  SimulationInputs inputs{};
  /// Whether the deployment fits. If not, `reason` says what does not, and the fields below stay
  /// empty (and are left out of the JSON).
  bool fits = true;
  std::optional<std::string> reason{};

  SimulatedWorkload workload{};
  LoadResult load{};  // of all reported requests
  std::optional<LatencyIntervals> intervals{};
  SimulatedSlo slo{};
  SaturationVerdict saturation{};  // read back: all of its reason in `finding`
  SimulatedEngine engine{};
  std::vector<PoolUtilisation> utilisation{};  // of every pool
  std::vector<StageResult> stages{};           // if several are reported
  std::vector<ReplicaResult> replicas{};       // if there are several, or their number may change
  std::vector<std::string> unserved{};         // what was not served and why, human-readable
  std::vector<std::string> notes{};            // assumptions behind the numbers, human-readable
  std::vector<std::string> advice{};           // from this run alone (planner/what_if/hints.hpp)
  ServingCost cost{};
  /// Its prices of tokens are those of the load's rate and by 0.1 % or more not those at which the
  /// run served them (served_over_run): they do not multiply to the dollars per hour.
  bool priced_at_load_rate = false;
  std::optional<double> session_rate_per_s{};  // sessions offered; unset: there are none
  std::optional<LimitsAnswer> limits{};        // with `explain`

  // Not in the JSON.
  bool stopped = false;    // cancelled: neither SLO nor saturation is judged
  std::string headline{};  // "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19"; read back: the model
};

/// `progress` gets (requests finished, total), then the same for the simulations of `explain`;
/// returning false cancels, and the answer covers what had arrived until then. Throws Error for
/// unreadable or invalid input.
SimulationAnswer simulate(const SimulationQuestion& question, const Progress& progress = {});

/// A simulation with its individual requests, for figures and for the store.
struct SimulationOutcome {
  SimulationRun run{};
  SimulationAnswer answer{};
};

/// Calls to the caller while the simulation runs. All may be empty.
struct SimulationSteps {
  /// Everything is read, drawn and fits; nothing is simulated yet. To open what the result goes to:
  /// an unwritable file should not cost a simulation.
  std::function<void(const SimulationRun&)> ready{};
  /// It is simulated, or was stopped; intervals and limits are still to come.
  std::function<void(const SimulationOutcome&)> simulated{};
  Progress requests{};     // of the simulation: requests finished
  Progress simulations{};  // of those for intervals and limits. If cancelled, a note says so
};

/// As simulate(), with the run itself.
SimulationOutcome simulate_in_steps(const SimulationQuestion& question,
                                    const SimulationSteps& steps = {});

/// The answer of a run that was refused or has been simulated.
SimulationAnswer answer_of(const SimulationRun& run);

/// How intervals are found.
struct IntervalSearch {
  Intervals wanted = Intervals::of_small_loads;
  bool other_draws = false;  // the load is synthetic: what other draws of it would do
  int threads = 1;
  Progress progress{};  // of simulations
};

/// Sets the intervals of `answer`, which is that of `run`, or adds a note that says why there are
/// none. Returns false, with neither, if `progress` cancelled.
bool add_intervals(const SimulationRun& run, const IntervalSearch& search,
                   SimulationAnswer& answer);

/// Whether the answer is yes: it fits, ran to its end, served something and met the SLO.
bool is_yes(const SimulationAnswer& answer);

/// What `roofcast simulate -o json` prints.
Json to_json(const SimulationAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
SimulationAnswer simulation_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json simulation_answer_schema();

}  // namespace roofcast

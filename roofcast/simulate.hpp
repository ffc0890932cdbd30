// A load through a deployment, request by request: latencies, throughput, whether the SLO holds and
// whether the engine keeps up.
//
//   SimulationQuestion question{.scenario = read_scenario("chat.json")};
//   const SimulationAnswer answer = simulate(question);
//   if (is_yes(answer)) std::cout << answer.load.ttft.p95 << " s\n";
//
// Fields of an answer are described by its `members`, key by key (simulate.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "planner/scenario_run.hpp"
#include "roofcast/deployment_description.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/limits.hpp"
#include "roofcast/pool_description.hpp"
#include "roofcast/progress.hpp"

namespace roofcast {

struct SimulationQuestion {
  Scenario scenario{};   // deployment, load, SLO and seed
  bool explain = false;  // what limits it: simulated again with a tenth more of each limit
  /// The scenario's workload where it is at hand; unset: read or drawn as the scenario says.
  std::optional<Workload> recorded{};
};

struct SimulationInputs {
  std::string model{};
  std::optional<DeploymentInputs> deployment{};  // where all pools have the same
  std::optional<std::string> profile_hash{};     // likewise
  std::vector<PoolInputs> pools{};
  Scenario scenario{};
};

struct SimulatedWorkload {
  std::string description{};  // for people
  std::int64_t requests = 0;
  std::int64_t requests_unreported = 0;  // of the warm-up
  std::int64_t rows_skipped = 0;         // of a trace
  std::vector<std::string> notes{};
};

struct SimulatedTarget {
  std::string slo_class{};  // "all": of every class
  PercentileTarget target{};
  std::optional<double> achieved_s{};  // unset: nothing was measured
  double attainment = 0;
  bool exact = true;
  std::optional<bool> met{};  // by what was measured, whatever else; unset: the run was stopped
};

struct SimulatedSlo {
  /// Whether what was promised is kept (judge() of simulator/results/verdict.hpp); a run without
  /// promises keeps them if it serves something. Unset: the run was stopped.
  std::optional<bool> met{};
  std::vector<SimulatedTarget> targets{};
  /// "1 of 2 targets missed"; empty when it is met. Not in the JSON; empty when read back.
  std::string why_not{};
};

struct SimulatedSaturation {
  std::optional<bool> saturated{};  // unset: the run was stopped
  std::string reason{};             // for people, with the numbers behind it
  double queueing_share = 0;        // of the mean TTFT
};

struct SimulatedEngine : EngineUse {
  std::optional<std::int64_t> kv_blocks{};  // where all pools have as many
};

struct SimulationAnswer {
  AnswerHead head{};
  SimulationInputs inputs{};
  /// Whether the deployment fits. If not, `reason` says what does not, and nothing below is filled
  /// in (nor in the JSON).
  bool fits = true;
  std::optional<std::string> reason{};

  SimulatedWorkload workload{};
  LoadResult load{};  // of all requests that are reported
  SimulatedSlo slo{};
  SimulatedSaturation saturation{};
  SimulatedEngine engine{};
  std::vector<StageResult> stages{};              // when several are reported
  std::vector<ReplicaResult> replicas{};          // when there are several, or one may come or go
  std::vector<std::string> unserved{};            // what was not served and why, for people
  std::vector<std::string> notes{};               // what the numbers rest on, for people
  std::optional<DollarsPerHour> cost_per_hour{};  // unset: a GPU has no price
  std::optional<double> dollars_per_million_output_tokens{};
  std::optional<LimitsAnswer> limits{};  // when asked for

  // Not in the JSON.
  bool stopped = false;    // before the end: neither SLO nor saturation is judged
  std::string headline{};  // "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19"; read back: the model
  bool shares_prefixes = false;  // some prompts begin alike; read back: some were found cached
};

/// Simulates. `progress` gets requests finished and their number, then of `explain` simulations;
/// false ends the work, and the answer is of what had arrived until then. Throws Error for input
/// that cannot be read or means nothing.
SimulationAnswer simulate(const SimulationQuestion& question, const Progress& progress = {});

/// A simulation with its requests one by one, for whoever draws or keeps them.
struct SimulationOutcome {
  SimulationRun run{};
  SimulationAnswer answer{};
};

/// The same in parts: prepare_simulation() reads, draws and says what does not fit; this simulates
/// what fits.
SimulationOutcome simulate_prepared(SimulationRun prepared, const Progress& progress = {});

/// What limits it, added to the answer. False when `progress` ended that: a note says so instead.
bool explain(SimulationOutcome& outcome, const Progress& progress = {});

/// Of a run that is refused, or has been simulated.
SimulationAnswer answer_of(const SimulationRun& run);

/// Whether the answer is yes: it fits, ran to its end, served something and keeps what was
/// promised.
bool is_yes(const SimulationAnswer& answer);

/// What `roofcast simulate -o json` prints.
Json to_json(const SimulationAnswer& answer);

/// The way back. Throws Error naming the key and what was expected.
SimulationAnswer simulation_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json simulation_answer_schema();

}  // namespace roofcast

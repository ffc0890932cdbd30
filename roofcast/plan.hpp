// The cheapest deployments that meet an SLO: every combination of GPUs, degrees and knobs in the
// question is bounded, searched and simulated.
//
//   PlanQuestion question{.scenario = read_scenario("chat.json"), .gpus = {"h100", "l40s"}};
//   const PlanAnswer answer = plan(question);
//   if (!answer.ranked.empty()) std::puts(answer.ranked.front().title.c_str());
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "planner/load/load_hours.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/search/evaluations.hpp"
#include "planner/search/plan.hpp"
#include "planner/verdict/confidence.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/limits.hpp"

namespace roofcast {

/// The probability of holding that `roofcast plan` asks for by itself.
inline constexpr double kPlanProbability = 0.9;

/// From where on a trace is planned for its busiest hour, in seconds.
inline constexpr double kLongTrace = 3 * 3600;

struct PlanQuestion {
  /// Model, load, SLO, seed, and the engine, degrees and knobs that the search does not set. Must
  /// have no pools: the search chooses them.
  Scenario scenario{};
  std::vector<std::string> gpus{};  // profile names or paths; at least one
  /// Knobs to vary with their values, see parse_dimension. Tensor-parallel degrees 1, 2, 4 and 8
  /// are added unless listed here or `fixed_tensor` keeps the scenario's.
  std::vector<Knob> search{};
  bool fixed_tensor = false;
  /// Whether the number of synthetic requests is free: as many as a verdict needs. Otherwise the
  /// scenario's.
  bool free_length = false;
  /// Plan for all of a trace; otherwise one that lasts longer than kLongTrace is planned for its
  /// busiest hour (planner/load/load_hours.hpp).
  bool whole_trace = false;
  PlanObjective objective = PlanObjective::cost;
  PlanLimits limits{};                        // keyed by GPU as in gpu_key()
  std::optional<double> min_goodput_share{};  // within all goodput limits of the SLO, 0 to 1
  /// Probability of meeting the SLO that a ranked candidate needs; unset: as predicted.
  std::optional<double> min_probability = kPlanProbability;
  std::int64_t max_replicas = 64;  // per shape
  std::int64_t top = 5;            // placements in the answer
  /// Also fleets of several pools behind a router by prompt length or request class.
  bool mix = false;
  bool explain = false;  // also what limits the best, and every shape's outcome
  /// The build that answers, part of the key of stored answers: another build may compute other
  /// figures.
  std::string program{};
};

/// A deployment as an answer shows it; other fields as in a scenario file, unset ones left out.
struct PlanDeployment {
  std::string gpu{};   // name of a profile, or its path
  std::string name{};  // of one unit: "2x NVIDIA H200 SXM TP2"
  std::optional<std::string> engine{};
  std::optional<std::string> quantization{};
  std::optional<std::shared_ptr<const Json>> parallel{};
  std::optional<std::shared_ptr<const Json>> engine_options{};
  std::optional<std::shared_ptr<const Json>>
      cluster{};  // pools, with disaggregated prefill and decode
};

struct PlanCandidate {
  std::string title{};  // "2 replicas of 4x NVIDIA H100 SXM TP4, fp8 (max-num-seqs 64)"
  PlanDeployment deployment{};
  std::int64_t units = 0;     // replicas; with disaggregated pools, copies of the split
  CandidateFigures result{};  // one simulation of the load
  Shape shape{};              // not in the JSON
};

/// Figures of an answer beyond one simulation of the load.
struct PlanProspects : FinalistFigures {
  std::int64_t gpus = 0;
};

struct RankedPlan : PlanCandidate, PlanProspects {
  bool pareto = false;  // no other in the answer costs less, has more margin and carries more
  std::vector<std::string> launch{};  // commands that start it
  /// Tokens of the longest request that it accepts, if its engine starts with a KV cache smaller
  /// than the model's context (as_started).
  std::optional<std::int64_t> longest_request{};
};

/// A pool of a mixed fleet and the requests that the router sends it.
struct MixedPool {
  std::string name{};
  std::string title{};  // "2 replicas of 1x NVIDIA L40S"
  PlanDeployment deployment{};
  std::int64_t units = 0;
  std::int64_t gpus = 0;
  std::int64_t min_input_len = 0;
  std::optional<std::int64_t> max_input_len{};  // unset: any
  std::optional<std::vector<std::string>> classes{};
  double share = 0;                       // of all requests
  double ttft_p95_s = 0, tpot_p95_s = 0;  // of its own requests; 0: not measured
  std::vector<TargetMargin> targets{};    // those over all requests, of its own requests
  std::vector<std::string> launch{};      // commands that start it

  // Not in the JSON.
  Shape shape{};
};

/// Several pools behind a router, with a lower objective than the first ranked.
struct MixedPlan : PlanProspects {
  std::string title{};
  std::vector<MixedPool> pools{};
  CandidateFigures result{};            // of all of them, at the requested load
  std::optional<double> saved_per_h{};  // dollars, against the first ranked
  std::optional<double> saved_share{};  // of the first ranked's cost
  bool pareto = false;                  // as of the ranked ones, among which it counts
  Scenario scenario{};                  // as `roofcast simulate` reads it
};

/// The best ranked under the same load with lengths that vary.
struct SpreadLengths {
  std::string input{}, output{};  // distributions with the means of the fixed lengths
  CandidateFigures result{};
};

/// For a GPU without a ranked candidate, its best, or the one that came nearest.
struct RejectedPlan {
  std::string gpu{};
  PlanDeployment shape{};
  ShapeOutcome outcome = ShapeOutcome::searched;
  std::string why{};                    // if no simulation decided
  std::optional<std::int64_t> units{};  // simulated; unset: only bounded
  std::optional<CandidateFigures> result{};

  // Not in the JSON.
  std::string title{};      // with its units if simulated
  bool holds = false;       // with at least the probability asked for
  double beyond_first = 0;  // its objective minus that of the first ranked
};

/// A shape and its outcome.
struct PlanShape {
  std::string title{};
  std::int64_t min_units = 0;  // lower bound
  std::int64_t max_units = 0;  // from the limits
  ShapeOutcome outcome = ShapeOutcome::searched;
  std::string why{};
};

struct PlanInputs {
  Scenario scenario{};
  std::vector<std::string> gpus{};  // names from their profiles
  std::optional<std::vector<std::pair<std::string, std::vector<std::string>>>> search{};
  PlanObjective objective = PlanObjective::cost;
  std::int64_t max_replicas = 0;
  PlanLimits limits{};
  std::optional<double> min_goodput_share{};
  std::optional<double> min_probability{};
  std::int64_t top = 0;
};

/// An hour of a long trace.
struct PlanHour : LoadHour {
  std::int64_t units = 0;  // of the first ranked, as they follow the load; 0: none is ranked
};

/// The first ranked with an autoscaler, simulated over the hours around the busiest.
struct AutoscaledPlan {
  double start_s = 0;  // from the trace's first arrival
  std::int64_t hours = 0;
  std::int64_t requests = 0;
  std::int32_t max_units = 0;
  double cold_start_s = 0;
  double mean_units = 0;  // paid for
  bool holds = false;
  std::string binding{};
};

/// A trace of many hours, and the fleet that follows it.
struct PlanHours {
  std::vector<PlanHour> hours{};  // from the first arrival on
  std::size_t busiest = 0;        // index of the hour that is planned for
  double mean_units = 0;          // of a fleet that follows the load hour by hour
  /// For all of the trace: the fleet as it is for the busiest hour, and one that follows the load.
  std::optional<double> fixed_cost{}, following_cost{};  // dollars; unset: no price is known
  std::optional<AutoscaledPlan> autoscaled{};            // unset: a single unit, or prefill apart
};

/// Limits that rule out candidates that might hold.
struct PlanContradiction {
  std::int64_t shapes = 0;  // ruled out
  std::string nearest{};    // the ruled-out one that needs least
  std::string why{};
};

struct PlanAnswer {
  AnswerHead head{};
  PlanInputs inputs{};
  std::optional<bool> holds{};  // some candidate or mix does; unset: stopped before an answer
  bool stopped = false;         // cancelled: nothing is ranked or decided
  std::string headline{};       // the answer in one sentence
  std::vector<std::string> remarks{};  // what else there is to say of it
  std::vector<RankedPlan> ranked{};    // best first
  /// Probability that the best ranked meets the SLO and nothing that needs 5 % less does; unset if
  /// none is ranked, or a mix is better.
  std::optional<double> choice_probability{};
  /// Simulated, cheaper than the best, and good as predicted, but less probable than asked for.
  std::optional<RankedPlan> point_estimate{};
  /// The best with `max_model_len` "auto" of what the model's full context alone keeps out of
  /// memory, if that is better than the first ranked.
  std::optional<RankedPlan> shorter_context{};
  /// The best of the first ranked's GPU with fp8 weights, if that is better and formats were
  /// neither searched nor given.
  std::optional<RankedPlan> cheaper_format{};
  /// If all requests have one length: the first ranked with lengths spread as in the Azure trace.
  std::optional<SpreadLengths> spread_lengths{};
  /// With `mix`: the best fleet of several pools, if better than the first ranked, else why not.
  std::optional<MixedPlan> mixed{};
  std::optional<std::string> no_mix{};
  std::optional<PlanHours> by_hour{};    // if it is planned for the busiest hour of a trace
  std::vector<PlanCandidate> closest{};  // if none is ranked: simulated candidates, nearest first
  std::vector<RejectedPlan> rejected{};  // in the order of the GPUs; empty when stopped
  std::map<ShapeOutcome, std::int64_t> shapes{};  // count per outcome
  std::optional<LimitsAnswer> limits{};           // of the best, with `explain`
  std::int64_t candidates = 0;                    // shapes times allowed unit counts
  std::int64_t simulations = 0;                   // in the search
  std::int64_t finalist_simulations = 0;          // for probabilities and breaking points

  // Not in the JSON.
  std::string workload{};     // description of the load
  std::int64_t requests = 0;  // per simulation
  std::optional<PlanContradiction> contradiction{};
  std::vector<PlanShape> every_shape{};  // with `explain`
};

/// Whether the requests are too few to be sure of the breaking point.
bool breaks_on_few(const PlanProspects& one);

enum class PlanStage { placements, simulations, limits };

/// Called with (stage, done, total); returning false cancels, and the answer is marked as stopped.
using PlanProgress = std::function<bool(PlanStage, std::int64_t, std::int64_t)>;

/// How the work is done. Does not affect the answer.
struct PlanExecution {
  int threads = 0;                   // 0: one per core
  KeptAnswers kept{};                // stored answers of earlier runs
  Ranks* ranks = nullptr;            // other processes that take part; null: none
  std::function<void()> on_start{};  // called before the first simulation
  PlanProgress progress{};
};

/// A question with everything that it names read.
struct PreparedPlan {
  PlanTask task{};
  PlanCatalogue catalogue{};
  std::shared_ptr<const Workload> whole{};  // the trace of whose busiest hour this is; else null
  bool mix = false;
  bool explain = false;
};

/// Throws Error for what cannot be read or run, and for a scenario without an SLO.
PreparedPlan prepare_plan(const PlanQuestion& question);

/// Uses `prepared.catalogue.stopped` until it returns; nothing else of `prepared` changes.
PlanAnswer plan(PreparedPlan& prepared, const PlanExecution& execution = {});
PlanAnswer plan(const PlanQuestion& question, const PlanExecution& execution = {});

/// The question with defaults resolved.
PlanInputs plan_inputs(const PreparedPlan& prepared);
Json to_json(const PlanInputs& inputs);

/// Whether some deployment or mixed fleet holds the SLO.
bool is_yes(const PlanAnswer& answer);

/// What `roofcast plan -o json` prints.
Json to_json(const PlanAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key.
PlanAnswer plan_answer_from_json(const Json& json);

Json plan_answer_schema();

}  // namespace roofcast

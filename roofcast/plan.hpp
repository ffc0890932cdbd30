// The cheapest deployments that hold an SLO: every combination of GPUs, degrees and knobs that is
// asked about, bounded, searched and simulated.
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
#include "planner/search/evaluations.hpp"
#include "planner/search/plan.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/limits.hpp"

namespace roofcast {

struct PlanQuestion {
  /// Model, load, SLO, seed, and the engine, degrees and knobs that no search sets. Its pools are
  /// the search's: it must have none.
  Scenario scenario{};
  std::vector<std::string> gpus{};  // names of profiles or paths of them; one at least
  /// Knobs to vary with their values, see parse_dimension. Degrees of tensor parallelism (1, 2, 4,
  /// 8) are added unless they are among these or `fixed_tensor` keeps the scenario's.
  std::vector<Knob> search{};
  bool fixed_tensor = false;
  /// Whether the number of synthetic requests is free: 2,000 then. Otherwise those of the scenario.
  bool free_length = false;
  PlanObjective objective = PlanObjective::cost;
  PlanLimits limits{};                        // by GPU as gpu_key() names it
  std::optional<double> min_goodput_share{};  // within all goodput limits of the SLO, 0 to 1
  std::optional<double> min_probability{};    // that what is answered holds; unset: as predicted
  std::int64_t max_replicas = 64;             // of a shape
  std::int64_t top = 5;                       // placements in the answer
  bool explain = false;                       // what binds the best, and every shape's outcome
  /// Which build answers, where answers are kept: another may come to other figures.
  std::string program{};
};

/// A deployment as an answer names it; the rest as in a scenario file, what is not set left out.
struct PlanDeployment {
  std::string gpu{};   // name of a profile, or its path
  std::string name{};  // of one unit: "2x NVIDIA H200 SXM TP2"
  std::optional<std::string> engine{};
  std::optional<std::string> quantization{};
  std::optional<std::shared_ptr<const Json>> parallel{};
  std::optional<std::shared_ptr<const Json>> engine_options{};
  std::optional<std::shared_ptr<const Json>>
      cluster{};  // pools, where prompts and decoding are apart
};

/// One simulation of the load. `probability` that it holds is not in the JSON.
struct PlanResult : CandidateFigures {};

struct PlanCandidate {
  std::string title{};  // "2 replicas of 4x NVIDIA H100 SXM TP4, fp8 (max-num-seqs 64)"
  PlanDeployment deployment{};
  std::int64_t units = 0;  // replicas; of pools that are apart, as many times both
  PlanResult result{};
  Shape shape{};  // not in the JSON
};

/// A number under the simulations that may be off.
struct PlanCause {
  std::string name{};
  std::optional<double> flips_at{};  // standard deviations of it that turn the verdict; unset: none
};

struct RankedPlan : PlanCandidate {
  std::int64_t gpus = 0;
  std::optional<double> cost_per_hour{};                      // dollars
  std::optional<double> dollars_per_million_output_tokens{};  // at the load asked about
  std::optional<double> power_w{};                            // boards at their limit
  bool pareto = false;     // no other of the ranked costs less, has more to spare and carries more
  double probability = 0;  // that it holds
  std::vector<PlanCause> causes{};
  /// The most load that it holds, as a factor on the load asked about; unset where it cannot be
  /// told: requests come all at once, or a client's limit sets the rate.
  std::optional<double> capacity_factor{};
  bool capacity_bounded = true;               // or it is at least this
  bool capacity_monotone = true;              // or some load beyond one that fails holds
  double capacity_rate_per_s = 0;             // arrivals
  std::int64_t capacity_requests_needed = 0;  // to tell of a load that lasts
  std::vector<std::string> launch{};          // how to start it
};

/// Of a GPU that is not among the ranked, what came nearest.
struct RejectedPlan {
  std::string gpu{};
  PlanDeployment shape{};
  ShapeOutcome outcome = ShapeOutcome::searched;
  std::string why{};                    // where no simulation decided
  std::optional<std::int64_t> units{};  // simulated; unset: known by a bound alone
  std::optional<PlanResult> result{};

  // Not in the JSON.
  std::string title{};      // with its units where it was simulated
  bool holds = false;       // as probably as the plan asks
  double beyond_first = 0;  // in the objective: what it takes more than the first of the ranked
};

/// A shape and what became of it.
struct PlanShape {
  std::string title{};
  std::int64_t min_units = 0;  // by the bound
  std::int64_t max_units = 0;  // by the limits
  ShapeOutcome outcome = ShapeOutcome::searched;
  std::string why{};
};

struct PlanInputs {
  Scenario scenario{};
  std::vector<std::string> gpus{};  // as their profiles name them
  std::optional<std::vector<std::pair<std::string, std::vector<std::string>>>> search{};
  PlanObjective objective = PlanObjective::cost;
  std::int64_t max_replicas = 0;
  PlanLimits limits{};
  std::optional<double> min_goodput_share{};
  std::optional<double> min_probability{};
  std::int64_t top = 0;
};

/// Limits that rule out what might hold.
struct PlanContradiction {
  std::int64_t shapes = 0;  // ruled out
  std::string nearest{};    // of these, the one that needs least
  std::string why{};
};

struct PlanAnswer {
  AnswerHead head{};
  PlanInputs inputs{};
  std::optional<bool> holds{};           // something does; unset: stopped before an answer
  bool stopped = false;                  // nothing is ranked or decided
  std::string headline{};                // the answer in a sentence
  std::vector<RankedPlan> ranked{};      // the best first
  std::vector<PlanCandidate> closest{};  // where none is ranked: simulated, the nearest first
  std::vector<RejectedPlan> rejected{};  // in the order of the GPUs; none when stopped
  std::map<ShapeOutcome, std::int64_t> shapes{};  // how many, by what became of them
  std::optional<LimitsAnswer> limits{};           // of the best, with `explain`
  std::int64_t candidates = 0;                    // shapes, each as often as its limits allow
  std::int64_t simulations = 0;                   // of the search, and
  std::int64_t finalist_simulations = 0;          // behind probabilities and breaking points

  // Not in the JSON.
  std::string workload{};     // in words
  std::int64_t requests = 0;  // of each simulation
  std::optional<PlanContradiction> contradiction{};
  std::vector<PlanShape> every_shape{};  // with `explain`
};

/// Whether the load ends before the engine has filled at the breaking point, so that it seems
/// later.
bool breaks_on_few(const RankedPlan& one);

enum class PlanStage { placements, simulations, limits };

/// Gets (stage, done, total); false cancels, and the answer says that it was stopped.
using PlanProgress = std::function<bool(PlanStage, std::int64_t, std::int64_t)>;

/// How the work is done. The answer is the same whatever this says.
struct PlanExecution {
  int threads = 0;                // 0: as many as there are cores
  KeptAnswers kept{};             // answers of earlier runs
  Ranks* ranks = nullptr;         // other processes that take part; null: none
  std::function<void()> begun{};  // called before the first simulation
  PlanProgress progress{};
};

/// A question with all that it names read.
struct PreparedPlan {
  PlanTask task{};
  PlanCatalogue catalogue{};
  bool explain = false;
};

/// Throws Error for what cannot be read or run, and where nothing is promised.
PreparedPlan prepare_plan(const PlanQuestion& question);

PlanAnswer plan(const PreparedPlan& prepared, const PlanExecution& execution = {});
PlanAnswer plan(const PlanQuestion& question, const PlanExecution& execution = {});

/// The question as understood.
PlanInputs plan_inputs(const PreparedPlan& prepared);
Json to_json(const PlanInputs& inputs);

/// What `roofcast plan -o json` prints.
Json to_json(const PlanAnswer& answer);

/// What to_json wrote. Throws Error naming the key.
PlanAnswer plan_answer_from_json(const Json& json);

Json plan_answer_schema();

}  // namespace roofcast

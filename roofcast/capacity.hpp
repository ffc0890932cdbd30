// The largest load that a deployment carries within its SLO. `capacity()` returns a record that can
// be written to JSON and read back.
//
//   CapacityQuestion question{.scenario = read_scenario("chat.json")};
//   const CapacityAnswer answer = capacity(question);
//   if (answer.capacity) use(*answer.capacity);  // requests/s or concurrency: see answer.load
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/numbers.hpp"
#include "base/progress.hpp"
#include "planner/capacity/growth.hpp"
#include "planner/capacity/load_study.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/scenario/pool_description.hpp"
#include "planner/verdict/confidence.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/limits.hpp"

namespace roofcast {

struct CapacityQuestion {
  /// Deployment, load and SLO. The search speeds up or slows down the load's requests, or changes
  /// how many are in flight; without an SLO a load holds as long as no backlog grows.
  Scenario scenario{};
  /// Share of requests that must meet all goodput limits of the SLO, 0 to 1. Unset: not required.
  std::optional<double> min_goodput_share{};
  /// Whether the number of synthetic requests is free: as many are drawn as each verdict
  /// needs (planner/verdict/steady_run.hpp). Otherwise the scenario's number is used.
  bool free_length = false;
  std::optional<GrowthQuestion> growth{};  // of the asked load: when does it fail?
  bool explain = false;                    // also the capacity with each limit 10 % wider
  bool lose_one = false;                   // also with one replica fewer, pool by pool
  int threads = 0;                         // 0: one per core
};

/// One load that was tried. A latency with mean 0 was not measured.
struct CapacityPoint : LoadPoint {
  LoadKind kind = LoadKind::rate;  // the unit of `load`
};

struct CapacityInputs {
  std::string model{};
  std::vector<PoolInputs> pools{};  // every knob resolved
  std::optional<double> min_goodput_share{};
  Scenario scenario{};
};

/// The load that was asked for.
struct AskedLoad : CapacityPoint {
  double probability = 0;  // that it holds, given the uncertainty of step times and other terms
  std::vector<Cause> causes{};
  std::vector<PoolUtilisation> utilisation{};  // of every pool
};

struct CapacityGrowth : Growth {
  std::optional<double> periods{};    // until it fails; unset: never
  std::optional<std::string> date{};  // last day that holds, if the question has a start date
};

struct CapacityLimits : LimitsAnswer {
  LoadKind kind = LoadKind::rate;
  double load = 0;  // at which the limits are judged: the lowest known to fail
  std::vector<PoolUtilisation> utilisation{};  // of every pool, at that load
};

/// The deployment with one replica of a pool fewer.
struct LostReplicaAnswer {
  std::string pool{};
  std::int32_t replicas_left = 0;        // 0: nothing is served
  std::optional<double> capacity{};      // unset: no load holds
  std::optional<CapacityPoint> asked{};  // at the load asked for
};

struct CapacityAnswer {
  AnswerHead head{};
  CapacityInputs inputs{};
  /// Whether the deployment fits. If not, `reason` says what does not, and the fields below stay
  /// empty (and are left out of the JSON).
  bool fits = true;
  std::string reason{};

  LoadKind load = LoadKind::rate;  // what is scaled: requests a second, or requests in flight
  /// Whether the answer is yes: some load holds, and so does the asked one, and it still does with
  /// one replica fewer if `lose_one` is set.
  bool holds = false;
  std::optional<double> capacity{};  // the greatest load that holds; unset: none holds
  /// 80 % interval, from the uncertainty of step times, the engine's version included, and of host
  /// work on requests.
  std::optional<double> low{}, high{};
  bool bounded = true;   // a greater load fails; otherwise the capacity is at least this
  bool monotone = true;  // no greater load holds again
  std::optional<std::string> doubt{};  // a sentence: why it does not stand; unset if it does
  std::optional<AskedLoad> asked{};    // unset: the scenario asks for no load
  std::optional<double> headroom{};    // capacity / asked load
  std::optional<CapacityGrowth> growth{};
  std::vector<CapacityPoint> curve{};   // from low load to beyond capacity, sorted by load
  std::vector<CapacityPoint> points{};  // all loads that the search tried, sorted
  CapacityLimits limits{};
  ServingCost cost{};                         // at the capacity; without one, of idle GPUs
  std::optional<double> turns_per_session{};  // requests that each arrival brings; unset: one
  std::vector<LostReplicaAnswer> lost{};      // with `lose_one`
  std::int64_t requests = 0;                  // per simulation
  std::int64_t simulations = 0;
  std::vector<std::string> notes{};  // assumptions behind the numbers, human-readable

  std::string headline{};  // "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19"
  std::string workload{};  // description of the load
  std::vector<std::string> workload_notes{};
  std::optional<double> unrelaxed{};  // the baseline for the relaxed capacities of limits

  // Not in the JSON.
  std::vector<PoolRun> pools{};  // as resolved, with their memory
};

/// Runs the search. `progress` gets (simulations done, the usual total); returning false cancels.
/// `stopped` also cancels: it is called within simulations and from several threads, and must stay
/// true once it is. Throws Error for unreadable or invalid input, for requests without a rate, and
/// when cancelled.
CapacityAnswer capacity(const CapacityQuestion& question, const Progress& progress = {},
                        const std::function<bool()>& stopped = {});

/// The two parts of capacity(): reading and drawing what is searched (run.refusal says what does
/// not fit), and the search.
LoadStudy capacity_study(const CapacityQuestion& question);
CapacityAnswer capacity(const CapacityQuestion& question, LoadStudy study,
                        const Progress& progress = {}, const std::function<bool()>& stopped = {});

/// Whether the SLO holds at some load.
bool is_yes(const CapacityAnswer& answer);

/// "rate_per_s" or "concurrency", "command": "capacity", ...: what `roofcast capacity -o json`
/// prints.
Json to_json(const CapacityAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key.
CapacityAnswer capacity_answer_from_json(const Json& json);

Json capacity_answer_schema();

/// One point per simulated load.
std::vector<CapacityPoint> capacity_points(LoadKind kind, const std::vector<LoadPoint>& points);

/// "12.34 requests/s", "32 requests in flight"
std::string as_load(LoadKind kind, double load);

/// Four significant digits at any magnitude, as a cell and as text.
Printed printed_load(double value);
std::string as_number(double value);

}  // namespace roofcast

// How much load a deployment carries within its SLO: `capacity()` answers, and what it answers is a
// record, written to JSON and read from it.
//
//   CapacityQuestion question{.scenario = read_scenario("chat.json")};
//   const CapacityAnswer answer = capacity(question);
//   if (answer.capacity) use(*answer.capacity);  // requests/s, or in flight: answer.load
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "planner/capacity/growth.hpp"
#include "planner/capacity/load_study.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/limits.hpp"
#include "roofcast/pool_description.hpp"
#include "roofcast/progress.hpp"

namespace roofcast {

struct CapacityQuestion {
  /// Deployment, load and SLO. The load's requests come faster or slower, or more of them are in
  /// flight; without an SLO a load holds as long as no backlog grows.
  Scenario scenario{};
  /// Of the requests, within all goodput limits of the SLO, 0 to 1. Unset: not required.
  std::optional<double> min_goodput_share{};
  /// Whether the number of synthetic requests is free: the search then draws as many as it needs
  /// (2,000 to 20,000). Otherwise those of the scenario.
  bool free_length = false;
  std::optional<GrowthQuestion> growth{};  // of the load asked for: when does it fail?
  bool explain = false;                    // the capacity with each limit a tenth wider too
  bool lose_one = false;                   // what is left with one replica fewer, pool by pool
  int threads = 0;                         // 0: as many as there are cores
};

/// One load that was tried. Of a latency whose mean is 0 nothing was measured.
struct CapacityPoint : LoadPoint {
  LoadKind kind = LoadKind::rate;  // the unit of `load`
};

struct CapacityInputs {
  std::string model{};
  std::vector<PoolInputs> pools{};  // every knob resolved
  std::optional<double> min_goodput_share{};
  Scenario scenario{};
};

/// A number under the simulation that may be off.
struct CapacityCause {
  std::string name{};                // "step time", "host work per request", "KV capacity"
  std::optional<double> flips_at{};  // standard deviations of it that turn the verdict; unset: none
};

/// The load that was asked for.
struct AskedLoad : CapacityPoint {
  double probability = 0;  // that it holds, given how far step times and other terms may be off
  std::vector<CapacityCause> causes{};
};

struct CapacityGrowth : Growth {
  std::optional<double> periods{};    // until it fails; unset: never
  std::optional<std::string> date{};  // the last day that holds, where the question has a first one
};

struct CapacityLimits : LimitsAnswer {
  LoadKind kind = LoadKind::rate;
  double load = 0;  // the one that the limits are of: the least known to fail
};

/// One replica of a pool fewer.
struct LostReplicaAnswer {
  std::string pool{};
  std::int32_t replicas_left = 0;        // with none nothing is served
  std::optional<double> capacity{};      // unset: no load holds
  std::optional<CapacityPoint> asked{};  // at the load asked for
};

struct CapacityAnswer {
  AnswerHead head{};
  CapacityInputs inputs{};
  /// Whether the deployment fits. If not, `reason` says what does not, and nothing below is filled
  /// in (nor in the JSON).
  bool fits = true;
  std::string reason{};

  LoadKind load = LoadKind::rate;  // what is scaled: requests a second, or requests in flight
  /// Whether the answer is yes: some load holds, the one asked for does, and still with one replica
  /// fewer where that was asked.
  bool holds = false;
  std::optional<double> capacity{};     // the greatest load that holds; unset: none does
  std::optional<double> low{}, high{};  // in 80 % of cases, by how far step times may be off
  bool bounded = true;   // a greater load fails; otherwise the capacity is at least this
  bool monotone = true;  // no greater load holds again
  std::optional<AskedLoad> asked{};  // unset: the scenario asks for no load
  std::optional<double> headroom{};  // capacity by the load asked for
  std::optional<CapacityGrowth> growth{};
  std::vector<CapacityPoint> curve{};   // from little to beyond capacity, by load
  std::vector<CapacityPoint> points{};  // all that the search tried, by load
  CapacityLimits limits{};
  std::vector<LostReplicaAnswer> lost{};  // with `lose_one`
  std::int64_t requests = 0;              // of each simulation
  std::int64_t simulations = 0;
  std::vector<std::string> notes{};  // what the numbers rest on, for people

  // Not in the JSON.
  std::string headline{};  // "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19"
  std::string workload{};  // the load in words
  std::vector<std::string> workload_notes{};
  std::vector<PoolRun> pools{};       // as resolved, with their memory
  std::optional<double> unrelaxed{};  // the capacity that limits' relaxed ones are compared with
};

/// Searches. `progress` gets (simulations done, about as many as it usually takes); false ends the
/// work, as `stopped` does, which is asked from within simulations and from several threads and
/// must stay true once it is. Throws Error for input that cannot be read or means nothing, for
/// requests that have no rate, and when the work was ended.
CapacityAnswer capacity(const CapacityQuestion& question, const Progress& progress = {},
                        const std::function<bool()>& stopped = {});

/// The same in two parts: what is searched, with everything read and drawn (run.refusal says what
/// does not fit), and the search.
LoadStudy capacity_study(const CapacityQuestion& question);
CapacityAnswer capacity(const CapacityQuestion& question, LoadStudy study,
                        const Progress& progress = {}, const std::function<bool()>& stopped = {});

/// "rate_per_s" or "concurrency", "command": "capacity", ...: what `roofcast capacity -o json`
/// prints.
Json to_json(const CapacityAnswer& answer);

/// What to_json wrote. Throws Error naming the key.
CapacityAnswer capacity_answer_from_json(const Json& json);

Json capacity_answer_schema();

/// Of a simulation at each load.
std::vector<CapacityPoint> capacity_points(LoadKind kind, const std::vector<LoadPoint>& points);

/// "12.34 requests/s", "32 requests in flight"
std::string as_load(LoadKind kind, double load);

/// Four significant digits, whatever the size.
std::string as_number(double value);

}  // namespace roofcast

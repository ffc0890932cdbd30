// The effect of a change: a scenario with knobs varied, each variant simulated under the same
// seeds, and whether the differences are significant.
//
//   WhatIfQuestion question{.baseline = read_scenario("chat.json"),
//                           .settings = grid_of({parse_knob("gpu=l40s,h200", "vary")})};
//   const std::optional<WhatIfAnswer> answer = what_if(question);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/numbers.hpp"
#include "base/progress.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/vary/vary_scenario.hpp"  // for those who check knobs
#include "planner/what_if/run_what_if.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/limits.hpp"
#include "simulator/results/scalar_figure.hpp"

namespace roofcast {

inline constexpr std::int64_t kDefaultSeeds = 5;

struct WhatIfQuestion {
  Scenario baseline{};
  /// One variant each, in addition to the baseline: grid_of() gives all combinations of knobs,
  /// one_at_a_time() each value by itself.
  std::vector<Settings> settings{};
  std::vector<MetricName> metrics{};  // to compare; empty: default_metrics() of the SLO
  std::optional<std::int64_t>
      seeds{};               // from the scenario's on; unset: kDefaultSeeds, for a trace 1
  int threads = 0;           // 0: one per core
  bool free_length = false;  // the number of synthetic requests is free
  bool explain = false;      // find which limit binds each variant
};

/// One metric of a variant, with 95 % intervals.
struct MetricAnswer : MetricName {
  std::optional<double> value{};        // mean over seeds; unset: a run lacks it
  std::optional<double> difference{};   // variant minus baseline
  std::optional<double> low{}, high{};  // of the difference; unset: cannot be separated from chance
  std::optional<bool> significant{};    // the interval excludes 0, and the change is 0.05 % or more
  /// It contains time in a queue and no run keeps up: the value is that of one length of the load,
  /// and grows with it.
  bool grows = false;
};

struct VariantAnswer {
  Settings settings{};                   // empty: the baseline
  bool is_baseline = false;              // the settings equal the baseline's
  std::string reason{};                  // why there are no figures; empty if there are
  std::int64_t runs = 0;                 // one per seed
  std::int64_t held = 0;                 // runs in which the SLO holds and the engine keeps up
  std::int64_t saturated = 0;            // runs in which the engine does not keep up
  std::int64_t undecided = 0;            // runs too short to tell
  std::optional<std::string> finding{};  // of the first of these: why, in words
  std::string binding{};                 // of the first run: the metric nearest to failing
  std::vector<MetricAnswer> metrics{};   // the same for every variant, in the question's order
  ServingCost cost{};                    // means over seeds
  std::vector<PoolUtilisation> utilisation{};  // of every pool, means over seeds
  std::optional<LimitsAnswer> limits{};        // of the first run, with `explain`
  Scenario scenario{};

  // Not in the JSON.
  RunLabels labels{};
  std::vector<RunFigure> all_figures{};  // all metrics of the runs, means over seeds
};

struct WhatIfAnswer {
  AnswerHead head{};
  Scenario baseline{};
  std::int64_t seeds = 1;
  /// For a trace, which does not depend on the seed: each variant runs once, and intervals come
  /// from leaving out blocks of its requests. Otherwise Student's t intervals over seeds.
  bool by_blocks = false;
  std::vector<VariantAnswer> variants{};  // the baseline first
};

/// `progress` gets (simulations done, total). Returns nullopt if it cancels. The answer does not
/// depend on the number of threads. Throws Error if the baseline cannot be simulated, for a setting
/// that is wrong in every variant and for a key that has no effect; the error of a single variant
/// is its reason.
std::optional<WhatIfAnswer> what_if(const WhatIfQuestion& question, const Progress& progress = {});

/// The two parts of what_if(): the variants, and their simulations.
WhatIfTask what_if_task(const WhatIfQuestion& question);
std::optional<WhatIfAnswer> what_if(const WhatIfTask& task, const Progress& progress = {});

/// Whether any variant beside the baseline could be answered.
bool is_yes(const WhatIfAnswer& answer);

/// What `roofcast whatif -o json` prints.
Json to_json(const WhatIfAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key.
WhatIfAnswer what_if_answer_from_json(const Json& json);

Json what_if_answer_schema();

/// "tp=2, request_rate=8"; "baseline" for the baseline.
std::string name_of(const VariantAnswer& variant);

/// Whether its runs meet the SLO, or without one keep up: "met", "met in 3 of 5", "saturated". What
/// tables write above it is verdict_title(): "SLO" or "Load".
std::string verdict_of(const VariantAnswer& variant);
const char* verdict_title(const WhatIfAnswer& answer);

/// A variant's value as tables have it: "412 ms", "grows without bound", "-" without one.
Printed value_cell(const MetricAnswer& metric);

/// "TTFT p95", "output tokens/s".
std::string title_of(const MetricName& metric);

/// How its values are printed, unless its name says so.
FigureForm form_of(const MetricName& metric);

/// Whether the metric is in seconds.
bool is_time(const MetricName& metric);

/// A value in the metric's unit, human-readable: "412 ms", and a difference: "+1.20 s".
Printed metric_cell(const MetricName& metric, double value);
std::string metric_text(const MetricName& metric, double value);
Printed difference_cell(const MetricName& metric, double value);

/// Whether more of it is better: true of throughput, false of latencies, costs and energy, nullopt
/// where neither is.
std::optional<bool> more_is_better(const MetricName& metric);

}  // namespace roofcast

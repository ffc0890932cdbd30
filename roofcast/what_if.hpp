// What a change does: a scenario with knobs varied, each variant simulated under the same seeds,
// and whether the differences are more than chance.
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
#include "planner/what_if/run_what_if.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/limits.hpp"
#include "roofcast/progress.hpp"

namespace roofcast {

struct WhatIfQuestion {
  Scenario baseline{};
  /// A variant each, beside the baseline: grid_of() every combination of knobs, one_at_a_time()
  /// every value by itself.
  std::vector<Settings> settings{};
  std::vector<MetricName> metrics{};    // to compare; empty: default_metrics() of the SLO
  std::optional<std::int64_t> seeds{};  // the scenario's and those after it; unset: 5, of a trace 1
  int threads = 0;                      // 0: as many as there are cores
  bool explain = false;                 // which limit binds each variant
};

/// One metric of a variant. Intervals are of 95 %.
struct MetricAnswer : MetricName {
  std::optional<double> value{};        // mean over seeds; unset: some run has none of it
  std::optional<double> difference{};   // from the baseline
  std::optional<double> low{}, high{};  // its interval; unset: nothing tells it from chance
  std::optional<bool> significant{};    // the interval does not hold 0
};

struct VariantAnswer {
  Settings settings{};                    // empty: the baseline
  bool is_baseline = false;               // the settings say what the baseline has already
  std::string reason{};                   // why there are no figures; empty: there are
  std::int64_t runs = 0;                  // one a seed
  std::int64_t held = 0;                  // in which the SLO holds and the engine keeps up
  std::int64_t saturated = 0;             // in which it does not keep up
  std::string binding{};                  // of the first run: what is nearest to failing
  std::vector<MetricAnswer> metrics{};    // the same of every variant, in their order
  std::optional<double> cost_per_hour{};  // dollars; unset: no price is known
  std::optional<double> dollars_per_million_output_tokens{};
  std::optional<LimitsAnswer> limits{};  // of the first run, with `explain`
  Scenario scenario{};

  // Not in the JSON.
  RunLabels labels{};
  std::vector<RunFigure> all_figures{};  // all that the runs have, means over seeds
};

struct WhatIfAnswer {
  AnswerHead head{};
  Scenario baseline{};
  std::int64_t seeds = 1;
  /// Of a trace, which is the same whatever the seed: intervals leave out blocks of its requests,
  /// each variant ran once. Otherwise they are Student's, over seeds.
  bool by_blocks = false;
  std::vector<VariantAnswer> variants{};  // the baseline first
};

/// Nothing when `progress`, which gets (simulations done, of all), cancelled it. The same whatever
/// the number of threads. Throws Error where the baseline cannot be simulated, for a setting that
/// is wrong in every variant and for a key that changes nothing; a variant's own errors are its
/// reason.
std::optional<WhatIfAnswer> what_if(const WhatIfQuestion& question, const Progress& progress = {});

/// The same in two parts: the variants, and their simulations.
WhatIfTask what_if_task(const WhatIfQuestion& question);
std::optional<WhatIfAnswer> what_if(const WhatIfTask& task, const Progress& progress = {});

/// What `roofcast whatif -o json` prints.
Json to_json(const WhatIfAnswer& answer);

/// What to_json wrote. Throws Error naming the key.
WhatIfAnswer what_if_answer_from_json(const Json& json);

Json what_if_answer_schema();

/// "tp=2, request_rate=8"; of the baseline "baseline".
std::string name_of(const VariantAnswer& variant);

/// "TTFT p95", "output tokens/s".
std::string title_of(const MetricName& metric);

/// Whether it is in seconds.
bool is_time(const MetricName& metric);

/// A value or a difference in the metric's unit, as a person reads it: "412 ms", "+1.20 s".
std::string metric_text(const MetricName& metric, double value);
std::string difference_text(const MetricName& metric, double value);

}  // namespace roofcast

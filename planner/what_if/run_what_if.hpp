// A scenario and variants of it, simulated under the same seeds; what each variant changes, and
// whether that is more than chance.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/paired_difference.hpp"
#include "planner/capacity/limits.hpp"
#include "planner/scenario_run.hpp"
#include "planner/what_if/vary.hpp"

namespace roofcast {

/// A figure as the store names it: "ttft_s", "p95"; "output_tokens_per_s", "value".
struct MetricName {
  std::string name{};
  std::string statistic = "value";

  bool operator==(const MetricName&) const = default;
};

/// Reads "ttft:p95", "ttft_s:mean", "output_tokens_per_s", "cost_usd_per_h". Throws UsageError
/// naming --metric, with the nearest that there is.
MetricName parse_metric_name(const std::string& text);

/// Latencies at their 95th percentile and throughput; with an SLO what it is about.
std::vector<MetricName> default_metrics(const Slo& slo);

/// One way to set the knobs, as a scenario.
struct WhatIfVariant {
  Settings settings{};  // empty: the baseline
  Scenario scenario{};
  std::string reason{};      // why there is no such scenario; empty: there is
  bool is_baseline = false;  // the settings say what the baseline has already
};

/// The baseline, then a variant for each of `settings`. Settings that contradict each other make a
/// variant with a reason. Throws UsageError for a setting that is wrong in every variant, for a key
/// none of whose values changes the baseline, and for one that makes a trace of a synthetic load or
/// the other way round.
std::vector<WhatIfVariant> variants_of(const Scenario& baseline,
                                       const std::vector<Settings>& settings);

/// A metric of a run with its value.
struct RunFigure {
  MetricName metric{};
  double value = 0;
};

/// What a run is of, in the words of the store and of headlines.
struct RunLabels {
  std::string model{}, gpu{}, engine{}, profile_hash{}, headline{}, workload{};
};

struct WhatIfTask {
  std::vector<WhatIfVariant> variants{};  // the baseline first
  std::vector<MetricName> metrics{};
  std::int64_t seeds = 1;  // the baseline's and those after it
  int threads = 1;
  bool explain = false;  // which limit binds each variant
  /// All figures of a run with its result, and its labels, of which a run that does not fit has
  /// some too. Called from several threads.
  std::function<std::vector<RunFigure>(const SimulationRun&)> figures_of{};
  std::function<RunLabels(const SimulationRun&)> labels_of{};
};

/// One metric of a variant.
struct WhatIfFigure {
  std::optional<double> value{};           // mean over seeds; absent: a run has none of it
  std::optional<Difference> difference{};  // against the baseline
};

struct WhatIfRow {
  WhatIfVariant variant{};
  RunLabels labels{};
  std::string reason{};                  // why there are no figures; empty: there are
  std::vector<WhatIfFigure> figures{};   // of the question's metrics, in their order
  std::vector<RunFigure> all_figures{};  // all that the runs have, means over seeds
  std::int64_t runs = 0;
  std::int64_t held = 0;       // runs in which the SLO holds and the engine keeps up
  std::int64_t saturated = 0;  // runs in which it does not keep up
  std::string binding{};       // of the first run: what is nearest to failing (verdict.hpp)
  std::optional<LimitReport> limits{};  // of the first run, when asked for, and
  std::vector<PoolRun> pools{};         // its pools
};

struct WhatIfFindings {
  std::vector<WhatIfRow> rows{};  // as the question's variants
  std::vector<MetricName> metrics{};
  std::int64_t seeds = 1;
  bool by_blocks = false;  // of a trace: intervals from blocks of its requests, one run a variant
};

/// A trace is the same whatever the seed.
bool is_trace(const Scenario& scenario);

/// Nothing when `progress` ended it. Throws Error when the baseline cannot be simulated; one that
/// does not fit has a reason. The same answer whatever the number of threads.
std::optional<WhatIfFindings> run_what_if(const WhatIfTask& question,
                                          const ProgressFunction& progress);

}  // namespace roofcast

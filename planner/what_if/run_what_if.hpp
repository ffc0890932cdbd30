// Simulates a scenario and variants of it under the same seeds, and tests whether the differences
// are significant.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/paired_difference.hpp"
#include "base/progress.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/vary/vary.hpp"
#include "planner/verdict/limits.hpp"

namespace roofcast {

/// A metric under the store's name: "ttft_s", "p95"; "output_tokens_per_s", "value".
struct MetricName {
  std::string name{};
  std::string statistic = "value";

  bool operator==(const MetricName&) const = default;
};

/// Reads "ttft:p95", "ttft_s:mean", "output_tokens_per_s", "cost_usd_per_h". Throws UsageError
/// naming --metric and suggesting the nearest one.
MetricName parse_metric_name(const std::string& text);

/// Latencies at their 95th percentile and throughput; with an SLO, its metrics.
std::vector<MetricName> default_metrics(const Slo& slo);

/// One combination of settings, as a scenario.
struct WhatIfVariant {
  Settings settings{};  // empty: the baseline
  Scenario scenario{};
  std::string reason{};      // why there is no such scenario; empty if there is
  bool is_baseline = false;  // the settings equal the baseline's
};

/// The baseline, then a variant for each of `settings`. Settings that contradict each other give a
/// variant with a reason. Throws UsageError for a setting that is wrong in every variant, for a key
/// none of whose values changes the baseline, and for one that replaces a synthetic load by a trace
/// or the reverse.
std::vector<WhatIfVariant> variants_of(const Scenario& baseline,
                                       const std::vector<Settings>& settings);

/// A metric of a run with its value.
struct RunFigure {
  MetricName metric{};
  double value = 0;
};

/// Labels of a run for the store and for headlines.
struct RunLabels {
  std::string model{}, gpu{}, engine{}, profile_hash{}, headline{}, workload{};
};

struct WhatIfTask {
  std::vector<WhatIfVariant> variants{};  // the baseline first
  std::vector<MetricName> metrics{};
  std::int64_t seeds = 1;  // from the baseline's on
  int threads = 1;
  bool explain = false;      // find which limit binds each variant
  bool free_length = false;  // the number of requests is free: as many as the verdicts need
  /// Returns all figures of a run that has a result, and sets its labels, some of which exist even
  /// for a run that does not fit. Called from several threads.
  std::function<std::vector<RunFigure>(const SimulationRun&)> figures_of{};
  std::function<RunLabels(const SimulationRun&)> labels_of{};
};

/// One metric of a variant.
struct WhatIfFigure {
  std::optional<double> value{};           // mean over seeds; absent: a run lacks it
  std::optional<Difference> difference{};  // against the baseline
};

struct WhatIfRow {
  WhatIfVariant variant{};
  RunLabels labels{};
  std::string reason{};                  // why there are no figures; empty if there are
  std::vector<WhatIfFigure> figures{};   // one per metric of the question, in order
  std::vector<RunFigure> all_figures{};  // all metrics of the runs, means over seeds
  std::int64_t runs = 0;
  std::int64_t held = 0;       // runs in which the SLO holds and the engine keeps up
  std::int64_t saturated = 0;  // runs in which the engine does not keep up
  std::int64_t undecided = 0;  // runs too short to tell
  std::string finding{};       // of the first of these: why, in words
  std::string
      binding{};  // of the first run: the metric nearest to failing (simulator/results/verdict.hpp)
  std::optional<LimitReport> limits{};  // of the first run, with `explain`
  std::vector<PoolRun> pools{};         // and its pools
};

struct WhatIfFindings {
  std::vector<WhatIfRow> rows{};  // in the order of the question's variants
  std::vector<MetricName> metrics{};
  std::int64_t seeds = 1;
  bool by_blocks = false;  // for a trace: intervals from blocks of requests, one run per variant
};

/// Whether the load is a trace, which does not depend on the seed.
bool is_trace(const Scenario& scenario);

/// Returns nullopt if `progress` cancelled. Throws Error if the baseline cannot be simulated; if it
/// does not fit it has a reason. Independent of the number of threads.
std::optional<WhatIfFindings> run_what_if(const WhatIfTask& question, const Progress& progress);

}  // namespace roofcast

// The variants of a what-if question, and its metrics.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/joined.hpp"
#include "base/suggest.hpp"
#include "model/io/gpu_reader.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/vary/vary_scenario.hpp"
#include "planner/what_if/run_what_if.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {
namespace {

/// Names of single-number figures; of cost and memory only those in the store.
std::vector<std::string> number_names() {
  std::vector<std::string> names;
  for (const StoredFigure& figure : stored_figures({})) names.emplace_back(figure.name);
  names.emplace_back("kv_blocks");
  for (const CostFigure& figure : kCostFigures) names.emplace_back(figure.name);
  return names;
}

std::vector<std::string> latency_names() {
  std::vector<std::string> names;
  for (const LatencyFigure& latency : kLatencyFigures) names.emplace_back(latency.name);
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string statistic_names() {
  return joined(kDistributionStatistics, [](const DistributionStatistic& statistic) {
    return statistic.in_tables ? statistic.name : "";
  });
}

/// "p95" for a percentile that distributions have; empty otherwise.
std::string statistic_of(const PercentileTarget& target) {
  std::string text = fmt::format("p{:g}", target.percentile);
  return table_statistic(text) != nullptr ? text : "";
}

void add_once(std::vector<MetricName>& metrics, const MetricName& metric) {
  if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) metrics.push_back(metric);
}

void add_targets(std::vector<MetricName>& metrics, const std::vector<PercentileTarget>& targets) {
  for (const PercentileTarget& target : targets) {
    const std::string statistic = statistic_of(target);
    if (statistic.empty()) continue;
    add_once(metrics, {std::string(name_of(target.metric)) + "_s", statistic});
  }
}

/// The settings as scenarios, or as reasons if contradictory.
std::vector<WhatIfVariant> tried(const Scenario& baseline, const std::vector<Settings>& settings) {
  const std::string before = to_json(baseline);
  std::vector<WhatIfVariant> variants(1);
  variants.front().scenario = baseline;
  variants.front().is_baseline = true;
  for (const Settings& one : settings) {
    WhatIfVariant variant;
    variant.settings = one;
    variant.scenario = baseline;
    try {
      variant.scenario = with_settings(baseline, one);
      variant.is_baseline = to_json(variant.scenario) == before;
      // Of a GPU that does not exist refuse_impossible() throws the reason.
      if (variant.scenario.deployment.gpu != baseline.deployment.gpu)
        load_gpu(variant.scenario.deployment.gpu);
    } catch (const Error& error) {
      variant.reason = error.what();
    }
    variants.push_back(std::move(variant));
  }
  return variants;
}

/// Outcome of the variants that contain a setting.
struct SettingOutcome {
  bool possible = false;
  std::string reason{};  // of the first variant that is impossible
};

void refuse_impossible(const std::vector<WhatIfVariant>& variants) {
  std::map<std::pair<std::string, std::string>, SettingOutcome> outcomes;
  for (const WhatIfVariant& variant : variants) {
    for (const Setting& setting : variant.settings) {
      SettingOutcome& outcome = outcomes[{setting.key, setting.value}];
      if (variant.reason.empty()) outcome.possible = true;
      if (outcome.reason.empty()) outcome.reason = variant.reason;
    }
  }
  for (const auto& [setting, outcome] : outcomes) {
    if (!outcome.possible) throw UsageError(outcome.reason);
  }
}

void refuse_other_load(const Scenario& baseline, const std::vector<WhatIfVariant>& variants) {
  for (const WhatIfVariant& variant : variants) {
    if (variant.scenario.workload.index() == baseline.workload.index()) continue;
    throw UsageError(fmt::format("`vary` {}: cannot replace the baseline's load, which is {}",
                                 to_text(variant.settings),
                                 is_trace(baseline) ? "a trace" : "synthetic"));
  }
}

/// The variant without that key; nullopt if that is impossible.
std::optional<std::string> scenario_without(const Scenario& baseline, const Settings& settings,
                                            const std::string& key) {
  Settings others;
  for (const Setting& setting : settings) {
    if (setting.key != key) others.push_back(setting);
  }
  try {
    return to_json(with_settings(baseline, others));
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

bool changes_something(const Scenario& baseline, const std::vector<WhatIfVariant>& variants,
                       const std::string& key) {
  for (const WhatIfVariant& variant : variants) {
    const bool has_key = std::any_of(variant.settings.begin(), variant.settings.end(),
                                     [&](const Setting& setting) { return setting.key == key; });
    if (!has_key || !variant.reason.empty()) continue;
    const auto without = scenario_without(baseline, variant.settings, key);
    if (!without || *without != to_json(variant.scenario)) return true;
  }
  return false;
}

void refuse_idle(const Scenario& baseline, const std::vector<WhatIfVariant>& variants) {
  std::vector<std::string> seen;
  for (const WhatIfVariant& variant : variants) {
    for (const auto& [key, value] : variant.settings) {
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(key);
      if (changes_something(baseline, variants, key)) continue;
      throw UsageError(
          fmt::format("`vary` {}={}: no change, the baseline already has this value", key, value));
    }
  }
}

}  // namespace

bool is_trace(const Scenario& scenario) {
  return std::holds_alternative<TraceWorkload>(scenario.workload);
}

MetricName parse_metric_name(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::string name = text.substr(0, colon);
  const std::string statistic = colon < text.size() ? text.substr(colon + 1) : "";
  const std::vector<std::string> latencies = latency_names();
  const std::vector<std::string> numbers = number_names();
  for (const char* unit : {"_s", "_per_s"}) {
    if (has(latencies, name + unit) || has(numbers, name + unit)) name += unit;
  }
  if (has(latencies, name)) {
    if (table_statistic(statistic) != nullptr) return {name, statistic};
    throw UsageError(
        fmt::format("`metric`: '{}' has no statistic, expected for example {}:p95, one of {}",
                    shown(text), name, statistic_names()));
  }
  if (has(numbers, name) && (statistic.empty() || statistic == "value")) return {name};
  std::vector<std::string> known = latencies;
  known.insert(known.end(), numbers.begin(), numbers.end());
  throw UsageError(
      fmt::format("`metric`: '{}' is not a metric{}", shown(text), did_you_mean(name, known)));
}

std::vector<MetricName> default_metrics(const Slo& slo) {
  std::vector<MetricName> metrics;
  for (const char* name : {"ttft_s", "tpot_s", "e2e_s"}) metrics.push_back({name, "p95"});
  metrics.push_back({"output_tokens_per_s"});
  add_targets(metrics, slo.targets);
  for (const SloClass& slo_class : slo.classes) add_targets(metrics, slo_class.targets);
  if (!slo.goodput.empty()) add_once(metrics, {"goodput_per_s"});
  return metrics;
}

std::vector<WhatIfVariant> variants_of(const Scenario& baseline,
                                       const std::vector<Settings>& settings) {
  std::vector<WhatIfVariant> variants = tried(baseline, settings);
  refuse_impossible(variants);
  refuse_other_load(baseline, variants);
  refuse_idle(baseline, variants);
  return variants;
}

}  // namespace roofcast

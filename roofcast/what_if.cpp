#include "roofcast/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/scenario/pool_description.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "roofcast/record_parts.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {

// ---- the record

template <class Visitor>
void members(Visitor& visit, MetricAnswer& metric) {
  visit("name", metric.name, "name in the store");
  visit("statistic", metric.statistic, "value, mean or a percentile");
  std::string title = title_of(metric);
  std::string text = value_cell(metric).text;
  std::optional<bool> more = more_is_better(metric);
  visit("title", title, "as tables head it");
  visit("more_is_better", more, "null: neither more nor less is");
  visit("value", metric.value, "mean over seeds; null: some run has none");
  visit("text", text, "the value as tables have it");
  visit("grows", metric.grows,
        "it contains time in a queue and no run keeps up, so that it grows with the load's length");
  visit("difference", metric.difference, "difference from the baseline");
  visit("difference_low", metric.low, "lower end of its 95 % interval; null: unknown");
  visit("difference_high", metric.high, "upper end of its 95 % interval; null: unknown");
  visit("significant", metric.significant,
        "the interval does not contain 0, and the change is 0.05 % or more; null: unknown");
}

template <class Visitor>
void members(Visitor& visit, VariantAnswer& variant) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Setting& one : variant.settings) settings.emplace_back(one.key, one.value);
  std::string verdict = verdict_of(variant);
  visit("settings", settings, "by knob; none: the baseline");
  visit("is_baseline", variant.is_baseline, "the variant equals the baseline");
  visit("reason", variant.reason, "why there are no figures; empty if there are");
  visit("runs", variant.runs, "one per seed");
  visit("runs_holding", variant.held, "runs in which the SLO is met and the engine keeps up");
  visit("runs_saturated", variant.saturated, "runs in which the engine does not keep up");
  visit("runs_undecided", variant.undecided, "runs too short to tell");
  visit("verdict", verdict, "of these runs, as tables have it: met in 3 of 5, saturated, ...");
  visit.if_set("finding", variant.finding, "of the first of these: why, in words");
  visit("binding", variant.binding, "in the first run: the target with the smallest margin");
  visit("metrics", variant.metrics, "the same metrics for every variant");
  members(visit, variant.cost);
  visit("utilisation", variant.utilisation, "of each pool's GPUs while a step is in progress");
  visit.if_set("limits", variant.limits, "of the first run");
  visit("scenario", variant.scenario, "as in a scenario file");
  variant.settings.clear();
  for (auto& [key, value] : settings) variant.settings.push_back({key, value});
}

/// "inputs" of the answer.
struct WhatIfInputs {
  Scenario scenario{};
  std::int64_t seeds = 1;
};

template <class Visitor>
void members(Visitor& visit, WhatIfInputs& inputs) {
  visit("scenario", inputs.scenario, "the baseline, as in a scenario file");
  visit("seeds", inputs.seeds, "per variant");
}

template <class Visitor>
void members(Visitor& visit, WhatIfAnswer& answer) {
  constexpr const char* kOverBlocks = "blocks of requests";
  WhatIfInputs inputs{answer.baseline, answer.seeds};
  std::string verdict_title = roofcast::verdict_title(answer);
  std::string interval = answer.by_blocks ? kOverBlocks : "seeds";
  members(visit, answer.head);
  visit("inputs", inputs, "the question as parsed");
  visit("verdict_title", verdict_title, "as tables head verdicts: SLO, or Load without one");
  visit("interval", interval, "unit of the intervals: seeds, or blocks of requests");
  visit("variants", answer.variants, "baseline first");
  answer.baseline = std::move(inputs.scenario);
  answer.seeds = inputs.seeds;
  answer.by_blocks = interval == kOverBlocks;
}

namespace {

// ---- the simulations

std::vector<RunFigure> run_figures(const SimulationRun& run) {
  std::vector<RunFigure> figures;
  for (const std::vector<MetricRow>& rows : {simulation_metrics(run), cost_metrics(run)}) {
    for (const MetricRow& row : rows) figures.push_back({{row.name, row.statistic}, row.value});
  }
  return figures;
}

RunLabels run_labels(const SimulationRun& run) {
  return {.model = run.pools.front().deployment.model.name,
          .gpu = gpus_of(run.pools),
          .engine = engines_of(run.pools),
          .profile_hash = profile_hashes_of(run.pools),
          .headline = headline(run.pools),
          .workload = run.workload.description};
}

// ---- the answer from the results

std::optional<double> finite(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? number : std::nullopt;
}

bool waits(const MetricName& metric) {
  const LatencyFigure* latency = latency_named(metric.name);
  return latency != nullptr && latency->waits;
}

MetricAnswer metric_of(const MetricName& name, const WhatIfFigure& figure) {
  MetricAnswer metric{name, finite(figure.value)};
  if (!figure.difference) return metric;
  const Difference& difference = *figure.difference;
  metric.difference = difference.mean;
  metric.low = finite(difference.low);
  metric.high = finite(difference.high);
  if (difference.low) {
    const double baseline = figure.value.value_or(difference.mean) - difference.mean;
    metric.significant = difference.significant_beside(baseline);
  }
  return metric;
}

std::optional<double> value_of(const WhatIfRow& row, const char* name) {
  for (const RunFigure& one : row.all_figures) {
    if (one.metric.name == name) return one.value;
  }
  return std::nullopt;
}

ServingCost cost_of(const WhatIfRow& row) {
  ServingCost cost;
  for (const CostFigure& figure : kCostFigures) cost.*figure.value = value_of(row, figure.name);
  return cost;
}

/// From the metrics `mfu` and `mbu` of the runs.
std::vector<PoolUtilisation> utilisation_of(const WhatIfRow& row, const Scenario& scenario) {
  const std::vector<PoolScenario> pools = pools_of(scenario);
  std::vector<PoolUtilisation> all;
  for (const PoolScenario& pool : pools) {
    const std::string statistic = pools.size() == 1 ? "value" : "pool " + pool.name;
    std::optional<double> mfu, mbu;
    for (const RunFigure& one : row.all_figures) {
      if (one.metric.statistic != statistic) continue;
      if (one.metric.name == "mfu") mfu = one.value;
      if (one.metric.name == "mbu") mbu = one.value;
    }
    if (mfu && mbu) all.push_back({.pool = pool.name, .mfu = *mfu, .mbu = *mbu});
  }
  return all;
}

VariantAnswer variant_of(const WhatIfFindings& found, const WhatIfRow& row) {
  VariantAnswer variant{.settings = row.variant.settings,
                        .is_baseline = row.variant.is_baseline,
                        .reason = row.reason,
                        .runs = row.runs,
                        .held = row.held,
                        .saturated = row.saturated,
                        .undecided = row.undecided,
                        .binding = row.binding,
                        .cost = cost_of(row),
                        .utilisation = utilisation_of(row, row.variant.scenario),
                        .scenario = row.variant.scenario,
                        .labels = row.labels,
                        .all_figures = row.all_figures};
  for (std::size_t i = 0; i < found.metrics.size(); ++i) {
    variant.metrics.push_back(metric_of(found.metrics[i], row.figures[i]));
    MetricAnswer& metric = variant.metrics.back();
    metric.grows = row.runs > 0 && row.saturated == row.runs && waits(metric);
  }
  if (!row.finding.empty()) variant.finding = row.finding;
  if (row.limits) variant.limits = limits_answer(*row.limits, row.pools);
  return variant;
}

/// Figures of a stored run that are not of its result: of the deployment, or measured.
constexpr auto kRunFigures = std::to_array<std::pair<std::string_view, FigureWords>>({
    {"kv_blocks", {"KV blocks", "blocks per engine", FigureForm::count}},
    {"kv_tokens", {"KV tokens", "tokens in these blocks", FigureForm::count}},
    {"max_concurrency", {"sequences at once", "of the longest length, that fit"}},
    {"step_s", {"step time", "of one step"}},
    {"prefill_s", {"prefill", "of one step, measured"}},
    {"decode_step_s", {"decode step", "measured"}},
    {"decode_minimum_s", {"decode step, at least", "its bytes over the bandwidth measured"}},
    {"copy_bandwidth_bytes_per_s", {"copy bandwidth (bytes/s)", "read and written"}},
    {"mfu", {"MFU", "model FLOPs utilisation while a step is in progress", FigureForm::share}},
    {"mbu", {"MBU", "memory bandwidth utilisation likewise", FigureForm::share}},
});

/// Null for latencies, costs and unknown names.
const FigureWords* words_of(const MetricName& metric) {
  for (const auto& [name, words] : kRunFigures) {
    if (name == metric.name) return &words;
  }
  return words_of_figure(metric.name);
}

bool is_money(const MetricName& metric) { return metric.name.starts_with("cost_"); }

bool varies_length(const std::vector<Settings>& variants) {
  return std::ranges::any_of(variants, [](const Settings& settings) {
    return std::ranges::any_of(settings, [](const Setting& one) {
      return one.key.find("num_prompts") != std::string::npos;
    });
  });
}

}  // namespace

WhatIfTask what_if_task(const WhatIfQuestion& question) {
  const Scenario& baseline = question.baseline;
  WhatIfTask task{
      .variants = variants_of(baseline, question.settings),
      .metrics = question.metrics.empty() ? default_metrics(baseline.slo) : question.metrics,
      .explain = question.explain,
      .free_length = question.free_length && !varies_length(question.settings),
      .figures_of = run_figures,
      .labels_of = run_labels};
  for (WhatIfVariant& variant : task.variants) {
    variant.scenario = with_pooled_output(std::move(variant.scenario));
  }
  if (is_trace(baseline) && question.seeds) {
    throw UsageError("`seeds`: the load is a trace, which does not depend on the seed");
  }
  task.seeds = is_trace(baseline) ? 1 : question.seeds.value_or(kDefaultSeeds);
  task.threads = question.threads > 0 ? question.threads : available_threads();
  return task;
}

std::optional<WhatIfAnswer> what_if(const WhatIfTask& task, const Progress& progress) {
  const std::optional<WhatIfFindings> found = run_what_if(task, progress);
  if (!found) return std::nullopt;
  WhatIfAnswer answer{.head = answer_head("whatif"),
                      .baseline = found->rows.front().variant.scenario,
                      .seeds = found->seeds,
                      .by_blocks = found->by_blocks};
  for (const WhatIfRow& row : found->rows) answer.variants.push_back(variant_of(*found, row));
  return answer;
}

std::optional<WhatIfAnswer> what_if(const WhatIfQuestion& question, const Progress& progress) {
  return what_if(what_if_task(question), progress);
}

bool is_yes(const WhatIfAnswer& answer) {
  const auto is_answered = [](const VariantAnswer& one) { return one.reason.empty(); };
  // The baseline comes first.
  return std::any_of(answer.variants.begin() + (answer.variants.size() > 1 ? 1 : 0),
                     answer.variants.end(), is_answered);
}

Json to_json(const WhatIfAnswer& answer) { return record_to_json(answer); }

WhatIfAnswer what_if_answer_from_json(const Json& json) {
  auto answer = answer_from_json<WhatIfAnswer>(json, "whatif");
  if (answer.variants.empty()) throw Error("variants: expected at least the baseline");
  return answer;
}

Json what_if_answer_schema() { return schema_document<WhatIfAnswer>("Answer of roofcast whatif"); }

namespace {

/// A key without a title: "requests completed" for "requests_completed".
std::string spelled(std::string key) {
  constexpr std::string_view kPerSecond = "_per_s";
  const bool rate = key.ends_with(kPerSecond);
  if (rate) key.resize(key.size() - kPerSecond.size());
  std::ranges::replace(key, '_', ' ');
  return rate ? key + "/s" : key;
}

}  // namespace

std::string name_of(const VariantAnswer& variant) {
  return variant.settings.empty() ? "baseline" : to_text(variant.settings);
}

std::string verdict_of(const VariantAnswer& row) {
  if (!row.reason.empty()) return "no answer";
  const bool judged = has_targets(row.scenario.slo);
  const char* good = judged ? "met" : "keeps up";
  if (row.held == row.runs) {
    if (row.undecided == 0) return good;
    return row.undecided == row.runs
               ? fmt::format("{}, undecided", good)
               : fmt::format("{}, undecided in {} of {}", good, row.undecided, row.runs);
  }
  if (row.undecided == row.runs && row.held == 0) return "undecided";
  if (row.undecided > 0 && row.held + row.undecided == row.runs) {
    return fmt::format("{} in {} of {}, else undecided", good, row.held, row.runs);
  }
  if (row.held > 0) return fmt::format("{} in {} of {}", good, row.held, row.runs);
  if (row.saturated == row.runs) return "saturated";
  const char* bad = judged ? "missed" : "not all requests served";
  if (row.saturated == 0) return bad;
  return fmt::format("{}, saturated in {} of {}", bad, row.saturated, row.runs);
}

const char* verdict_title(const WhatIfAnswer& answer) {
  return has_targets(answer.baseline.slo) ? "SLO" : "Load";
}

Printed value_cell(const MetricAnswer& metric) {
  if (metric.grows) return "grows without bound";
  return metric.value ? metric_cell(metric, *metric.value) : "-";
}

bool is_time(const MetricName& metric) { return is_time(metric.name); }

std::string title_of(const MetricName& metric) {
  const LatencyFigure* latency = latency_named(metric.name);
  const auto* cost = std::ranges::find(kCostFigures, metric.name, &CostFigure::name);
  if (cost != kCostFigures.end()) return cost->title;
  const FigureWords* words = words_of(metric);
  const std::string title = latency != nullptr ? latency->title
                            : words != nullptr ? words->title
                                               : spelled(metric.name);
  return metric.statistic == "value" ? title : title + " " + metric.statistic;
}

FigureForm form_of(const MetricName& metric) {
  const FigureWords* words = words_of(metric);
  return words != nullptr ? words->form : FigureForm::number;
}

Printed metric_cell(const MetricName& metric, double value) {
  if (!std::isfinite(value)) return "-";
  if (is_time(metric)) return printed::time(Seconds{value});
  if (is_money(metric)) return printed_amount(value, 2);
  if (form_of(metric) == FigureForm::share) return printed::percent(value);
  constexpr double kPlain = 999.95;  // from here on four digits have a separator
  if (std::abs(value) >= kPlain) return printed::fixed(value, 0);
  const std::string digits = fmt::format("{:.4g}", value);
  return {digits, digits};
}

std::string metric_text(const MetricName& metric, double value) {
  return metric_cell(metric, value).text;
}

std::optional<bool> more_is_better(const MetricName& metric) {
  if (const FigureWords* words = words_of(metric)) return words->more_is_better;
  if (latency_named(metric.name) != nullptr || is_money(metric) ||
      metric.name.starts_with("joules_")) {
    return false;
  }
  return std::nullopt;
}

Printed difference_cell(const MetricName& metric, double value) {
  Printed cell = metric_cell(metric, value);
  if (value > 0) cell.text.insert(0, "+");
  return cell;
}

}  // namespace roofcast

#include "roofcast/store_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "base/wording.hpp"
#include "planner/scenario/pool_description.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

/// Columns common to all kinds of rows.
RunRow row_of(const std::string& kind, const std::string& command_line, const Scenario& scenario) {
  RunRow row;
  row.kind = kind;
  row.created_at = utc_now();
  row.tool_version = kVersion;
  row.command_line = command_line;
  row.scenario_json = to_json(with_absolute_paths(scenario));
  row.seed = scenario.seed;
  return row;
}

// ---- capacity

/// One line for the list of runs.
std::string summary_of(const CapacityAnswer& answer) {
  if (!answer.capacity) return "no load meets the SLO";
  return "capacity " + as_load(answer.load, *answer.capacity) +
         (!answer.asked  ? ""
          : answer.holds ? ", requested load meets the SLO"
                         : ", requested load misses it");
}

// ---- what-if

constexpr const char* kSeeds = "seeds";
// After a metric's statistic: "p95_difference".
constexpr std::string_view kDifference = "_difference";
constexpr std::string_view kLow = "_difference_low";
constexpr std::string_view kHigh = "_difference_high";

void add_differences(const VariantAnswer& variant, std::vector<MetricRow>& rows) {
  for (const MetricAnswer& metric : variant.metrics) {
    const auto add = [&](std::string_view which, const std::optional<double>& value) {
      if (value) rows.push_back({metric.name, metric.statistic + std::string(which), *value});
    };
    add(kDifference, metric.difference);
    add(kLow, metric.low);
    add(kHigh, metric.high);
  }
}

/// "tp=2: TTFT p95 412 ms (-120 ms)"
std::string summary_of(const VariantAnswer& variant) {
  std::string text = name_of(variant);
  const MetricAnswer& metric = variant.metrics.front();
  if (!metric.value) return text;
  text += fmt::format(": {} {}", title_of(metric), metric_text(metric, *metric.value));
  if (variant.settings.empty() || !metric.difference) return text;
  return text + fmt::format(" ({}{})", difference_cell(metric, *metric.difference).text,
                            !metric.significant   ? ""
                            : *metric.significant ? ", significant"
                                                  : ", not significant");
}

bool is_difference(const std::string& statistic) {
  return statistic.find(kDifference) != std::string::npos;
}

}  // namespace

Run capacity_row(const CapacityAnswer& answer, const std::string& command_line) {
  Run run;
  run.row = row_of("capacity", command_line, answer.inputs.scenario);
  run.row.model = answer.inputs.model;
  run.row.gpu = gpus_of(answer.pools);
  run.row.engine = engines_of(answer.pools);
  run.row.profile_hash = profile_hashes_of(answer.pools);
  run.row.summary = summary_of(answer);
  const auto add = [&](const std::string& name, const std::string& statistic,
                       const std::optional<double>& value) {
    if (value) run.metrics.push_back({name, statistic, *value});
  };
  const std::string name =
      answer.load == LoadKind::rate ? "capacity_rate_per_s" : "capacity_concurrency";
  add(name, "value", answer.capacity);
  add(name, "p10", answer.low);
  add(name, "p90", answer.high);
  add("headroom", "value", answer.headroom);
  if (answer.asked) add("holds_probability", "value", answer.asked->probability);
  for (const CostFigure& figure : kCostFigures)
    add(figure.name, "value", answer.cost.*figure.value);
  return run;
}

Run capacity_table_row(const CapacityTableAnswer& answer, const std::string& command_line) {
  Run run;
  const Scenario& scenario = answer.inputs.scenario;
  run.row = row_of("capacity_table", command_line, scenario);
  run.row.model = scenario.deployment.model;
  std::vector<std::string> gpus;
  for (const CapacityTableRow& row : answer.rows) {
    if (std::ranges::find(gpus, row.gpu) == gpus.end()) gpus.push_back(row.gpu);
  }
  run.row.gpu = joined(gpus, " + ");
  run.row.engine = engine_name(scenario.deployment);
  const CapacityTableRow& best = answer.rows.front();
  run.row.summary = "no load meets the SLO on any";
  if (!best.capacity) return run;
  run.row.summary = fmt::format("of {}: {}, {}", counted(std::ssize(answer.rows), "deployment"),
                                best.title, as_load(best.load, *best.capacity));
  const bool rate = best.load == LoadKind::rate;
  run.metrics.push_back(
      {rate ? "capacity_rate_per_s" : "capacity_concurrency", "value", *best.capacity});
  for (const CostFigure& figure : kCostFigures) {
    if (const auto& value = best.cost.*figure.value) {
      run.metrics.push_back({figure.name, "value", *value});
    }
  }
  return run;
}

RunRow plan_row(const PreparedPlan& prepared, const std::string& command_line) {
  RunRow row;
  row.kind = "plan";
  row.created_at = utc_now();
  row.tool_version = kVersion;
  row.command_line = command_line;
  row.model = prepared.catalogue.base.deployment.model;
  row.scenario_json = to_json(plan_inputs(prepared)).dump();
  row.seed = prepared.task.base.seed;
  return row;
}

PlanEnd plan_end(const PlanAnswer& answer, const PreparedPlan& prepared) {
  PlanEnd end{.summary = answer.headline, .answer_json = to_json(answer).dump()};
  std::vector<Shape> shapes;  // of the pools or the candidate that the summary names
  if (answer.mixed) {
    for (const MixedPool& pool : answer.mixed->pools) shapes.push_back(pool.shape);
  } else if (!answer.ranked.empty()) {
    shapes.push_back(answer.ranked.front().shape);
  }
  const auto each = [&](const auto& text_of) {
    std::vector<std::string> texts;
    for (const Shape& shape : shapes) {
      const std::string text = text_of(shape);
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
    return joined(texts, " + ");
  };
  end.gpu = each([](const Shape& shape) { return shape.gpu; });
  end.engine = each([](const Shape& shape) { return shape.engine; });
  end.profile_hash =
      each([&](const Shape& shape) { return prepared.catalogue.gpus.at(shape.gpu).hash; });
  return end;
}

std::vector<MetricRow> plan_metrics(const PlanAnswer& answer) {
  std::vector<MetricRow> metrics = {
      {"simulations", "value", static_cast<double>(answer.simulations)}};
  if (answer.ranked.empty() && !answer.mixed) return metrics;
  const PlanProspects& best =
      answer.mixed ? static_cast<const PlanProspects&>(*answer.mixed) : answer.ranked.front();
  const CandidateFigures& result =
      answer.mixed ? answer.mixed->result : answer.ranked.front().result;
  metrics.push_back({"gpus", "value", static_cast<double>(best.gpus)});
  metrics.push_back({"probability", "value", best.confidence.probability});
  metrics.push_back({"ttft_s", "p95", result.ttft_p95_s});
  metrics.push_back({"tpot_s", "p95", result.tpot_p95_s});
  for (const CostFigure& figure : kCostFigures) {
    if (const auto& value = best.cost.*figure.value)
      metrics.push_back({figure.name, "value", *value});
  }
  return metrics;
}

std::vector<Run> what_if_runs(const WhatIfAnswer& answer, const std::string& command_line) {
  std::vector<Run> runs;
  for (const VariantAnswer& variant : answer.variants) {
    if (!variant.reason.empty()) continue;
    Run run;
    run.row = row_of("whatif", command_line, variant.scenario);
    run.row.model = variant.labels.model;
    run.row.gpu = variant.labels.gpu;
    run.row.engine = variant.labels.engine;
    run.row.profile_hash = variant.labels.profile_hash;
    run.row.summary = summary_of(variant);
    for (const RunFigure& one : variant.all_figures) {
      run.metrics.push_back({one.metric.name, one.metric.statistic, one.value});
    }
    run.metrics.push_back({kSeeds, "value", static_cast<double>(answer.seeds)});
    if (!variant.settings.empty()) add_differences(variant, run.metrics);
    runs.push_back(std::move(run));
  }
  return runs;
}

WhatIfAnswer what_if_of(const Json& json, std::span<const Run> runs) {
  WhatIfAnswer answer = what_if_answer_from_json(json);
  std::size_t next = 0;
  for (VariantAnswer& variant : answer.variants) {
    if (!variant.reason.empty()) continue;
    if (next == runs.size()) throw Error("a run of the answer was deleted");
    const Run& run = runs[next++];
    variant.labels = {.model = run.row.model,
                      .gpu = run.row.gpu,
                      .engine = run.row.engine,
                      .profile_hash = run.row.profile_hash};
    for (const MetricRow& row : run.metrics) {
      if (row.name == kSeeds || is_difference(row.statistic)) continue;
      variant.all_figures.push_back({{row.name, row.statistic}, row.value});
    }
  }
  return answer;
}

}  // namespace roofcast

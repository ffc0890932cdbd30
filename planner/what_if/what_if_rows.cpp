// A what-if as rows of the store.
#include <fmt/format.h>

#include <utility>

#include "base/dates.hpp"
#include "base/version.hpp"
#include "cli/plan/what_if_document.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

void add_differences(const WhatIfAnswer& answer, const WhatIfRow& row,
                     std::vector<MetricRow>& metrics) {
  for (std::size_t i = 0; i < answer.metrics.size(); ++i) {
    const MetricName& metric = answer.metrics[i];
    const std::optional<Difference>& difference = row.figures[i].difference;
    if (!difference) continue;
    metrics.push_back({metric.name, metric.statistic + "_difference", difference->mean});
    if (!difference->low) continue;
    metrics.push_back({metric.name, metric.statistic + "_difference_low", *difference->low});
    metrics.push_back({metric.name, metric.statistic + "_difference_high", *difference->high});
  }
}

/// "tp=2: TTFT p95 412 ms (-120 ms)"
std::string summary_of(const WhatIfAnswer& answer, const WhatIfRow& row) {
  std::string text = row.variant.settings.empty() ? "baseline" : to_text(row.variant.settings);
  const WhatIfFigure& figure = row.figures.front();
  if (!figure.value) return text;
  const MetricName& metric = answer.metrics.front();
  text += fmt::format(": {} {}", title_of(metric), metric_text(metric, *figure.value));
  if (row.variant.settings.empty() || !figure.difference) return text;
  return text + fmt::format(" ({}{})", difference_text(metric, figure.difference->mean),
                            !figure.difference->low            ? ""
                            : figure.difference->significant() ? ", significant"
                                                               : ", not significant");
}

}  // namespace

std::vector<Run> what_if_runs(const WhatIfAnswer& answer, const std::string& command_line) {
  std::vector<Run> runs;
  for (const WhatIfRow& row : answer.rows) {
    if (!row.reason.empty()) continue;
    Run run;
    run.row.kind = "whatif";
    run.row.created_at = utc_now();
    run.row.tool_version = kVersion;
    run.row.command_line = command_line;
    run.row.model = row.model;
    run.row.gpu = row.gpu;
    run.row.engine = row.engine;
    run.row.scenario_json = to_json(with_absolute_paths(row.variant.scenario));
    run.row.profile_hash = row.profile_hash;
    run.row.seed = row.variant.scenario.seed;
    run.row.summary = summary_of(answer, row);
    run.metrics = row.metrics;
    run.metrics.push_back({"seeds", "value", static_cast<double>(answer.seeds)});
    if (!row.variant.settings.empty()) add_differences(answer, row, run.metrics);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace roofcast

#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "base/io/shown.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "reports/importers/metric_rows.hpp"
#include "roofcast/import.hpp"

namespace roofcast {
namespace {

/// "10 requests/s, at most 8 at a time, 1024 in, 128 out"
std::string load_of(const MeasuredSetting& setting) {
  std::vector<std::string> parts;
  const auto add = [&](std::string part) { parts.push_back(std::move(part)); };
  if (const auto rate = setting.request_rate_per_s) {
    add(std::isinf(*rate) ? "all at once" : fmt::format("{:g} requests/s", *rate));
  }
  if (setting.max_concurrency) add(fmt::format("at most {} at a time", *setting.max_concurrency));
  if (setting.mean_input_tokens) add(fixed(*setting.mean_input_tokens, 0) + " in");
  if (setting.mean_output_tokens) add(fixed(*setting.mean_output_tokens, 0) + " out");
  return joined(parts);
}

bool serves_requests(const MeasuredRun& run) {
  return !latency_cell(run, "ttft_s").text.empty() || !latency_cell(run, "tpot_s").text.empty() ||
         !latency_cell(run, "e2e_s").text.empty() ||
         find_metric(run, "output_tokens_per_s", "value");
}

Printed run_cell(const ImportedRun& imported) {
  return imported.id ? verbatim(std::to_string(*imported.id)) : "not stored";
}

std::string heading_of(const ImportedRun& imported) {
  return imported.id ? fmt::format("Run {}: {}", *imported.id, imported.run.origin)
                     : imported.run.origin;
}

Table runs_table(const std::vector<ImportedRun>& runs) {
  Table table{.title = "Measured runs (latencies are means)",
              .columns = {{"Run"},
                          {"Format", false},
                          {"Model", false},
                          {"GPU", false},
                          {"Engine", false},
                          {"Load", false},
                          {"TTFT"},
                          {"TPOT"},
                          {"ITL"},
                          {"E2E"},
                          {"Requests/s"},
                          {"Output tokens/s"}},
              .rows = {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i].run;
    table.rows.push_back(
        {run_cell(runs[i]), run.format, cell_text(run.setting.model), gpu_of(run.setting),
         engine_of(run.setting), load_of(run.setting), latency_cell(run, "ttft_s"),
         latency_cell(run, "tpot_s"), latency_cell(run, "itl_s"), latency_cell(run, "e2e_s"),
         rate_cell(run, "request_rate_per_s", 2), rate_cell(run, "output_tokens_per_s", 0)});
  }
  return table;
}

Table metrics_table(const MeasuredRun& run) {
  Table table{
      .title = "", .columns = {{"Metric", false}, {"Statistic", false}, {"Value"}}, .rows = {}};
  for (const MetricRow& metric : run.metrics) {
    table.rows.push_back(
        {metric.name, metric.statistic, verbatim(fmt::format("{:.6g}", metric.value))});
  }
  return table;
}

}  // namespace

Document import_document(const ImportAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  document.sections.push_back({.heading = "", .lines = {}, .table = runs_table(answer.runs)});
  for (const ImportedRun& imported : answer.runs) {
    const MeasuredRun& run = imported.run;
    const bool in_table = serves_requests(run);
    if (in_table && run.warnings.empty()) continue;
    Section section{.heading = heading_of(imported), .lines = run.warnings, .table = {}};
    if (!in_table) section.table = metrics_table(run);
    document.sections.push_back(std::move(section));
  }
  return document;
}

}  // namespace roofcast

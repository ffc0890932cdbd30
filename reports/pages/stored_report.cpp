#include "reports/pages/stored_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/numbers.hpp"
#include "base/version.hpp"
#include "model/io/gpu_reader.hpp"
#include "reports/pages/figures/stored_figures.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/stored_runs.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {
namespace {

/// Shows each metric's key next to its name, for queries of the store.
Table metrics_table(const Run& stored) {
  Table table{.title = "All figures of the run",
              .columns = {{"Metric", false}, {"Value"}, {"In the store", false}},
              .rows = {}};
  for (const MetricRow& metric : stored.metrics) {
    const MetricName name{.name = metric.name, .statistic = metric.statistic};
    table.rows.push_back(
        {title_of(name), metric_cell(name, metric.value), metric.name + ", " + metric.statistic});
  }
  return table;
}

/// Indented JSON; unchanged if it is not JSON or too deeply nested to be a scenario.
std::string indented(const std::string& json) {
  try {
    return parse_bounded<Json>(json, "scenario")
        .dump(2, ' ', false, Json::error_handler_t::replace);
  } catch (const Json::exception&) {
    return json;
  } catch (const Error&) {
    return json;
  }
}

/// A figure with another statistic of it below; none if the run lacks it.
void add_tile(std::vector<ReportTile>& tiles, const Run& stored, const MetricName& main,
              const MetricName& note) {
  const auto found = [&](const MetricName& name) {
    return std::ranges::find_if(stored.metrics, [&](const MetricRow& metric) {
      return metric.name == name.name && metric.statistic == name.statistic;
    });
  };
  const auto value = found(main);
  if (value == stored.metrics.end()) return;
  ReportTile tile{.name = title_of(main), .value = metric_text(main, value->value)};
  if (const auto more = found(note); more != stored.metrics.end()) {
    tile.note = title_of(note) + " " + metric_text(note, more->value);
  }
  tiles.push_back(std::move(tile));
}

/// What was measured: the speed, and what a user waits for.
std::vector<ReportTile> measured_tiles(const Run& stored) {
  std::vector<ReportTile> tiles;
  add_tile(tiles, stored, {"output_tokens_per_s", "value"}, {"request_rate_per_s", "value"});
  add_tile(tiles, stored, {"prefill_s", "value"}, {"decode_step_s", "value"});
  add_tile(tiles, stored, {"ttft_s", "p50"}, {"ttft_s", "p95"});
  add_tile(tiles, stored, {"tpot_s", "p50"}, {"tpot_s", "p95"});
  add_tile(tiles, stored, {"e2e_s", "p50"}, {"e2e_s", "p95"});
  return tiles;
}

/// Results of other tools, which Roofcast only read.
bool is_measured_elsewhere(const RunRow& row) { return row.kind == "measured"; }

}  // namespace

bool proves_little(const SloVerdict& verdict) { return verdict.holds && verdict.undecided; }

std::string verdict_word(const SloVerdict& verdict) {
  if (is_undecided(verdict)) return "undecided";
  if (!verdict.holds) return "missed";
  return proves_little(verdict) ? "met by these" : "met";
}

std::string gpu_title(const std::string& gpu) {
  if (is_profile_path(gpu)) return gpu;
  try {
    return load_gpu(gpu).gpu.display_name;
  } catch (const Error&) {  // its profile no longer exists, or the name matches several
    return gpu;
  }
}

std::string report_title(const RunRow& row) {
  std::string what = row.model;
  if (!row.gpu.empty()) what += (what.empty() ? "" : " on ") + gpu_title(row.gpu);
  return fmt::format("{}{}{} (run {})", what, what.empty() ? "" : ": ", kind_title(row.kind),
                     row.id);
}

Json report_machine(const RunRow& row) {
  Json json = envelope("report", {{"run", row.id}});
  json["kind"] = row.kind;
  json["created_at"] = row.created_at;
  json["made_by"] = row.tool_version;
  json["command_line"] = row.command_line;
  return json;
}

std::string unreadable_text(const Error& reason, const RunRow& row) {
  return fmt::format(
      "This stored answer cannot be read ({}): it was written by {}, perhaps another build than "
      "this one ({}), so only the figures in the store are shown: run the command below again for "
      "the whole answer.",
      reason.what(), row.tool_version, kVersion);
}

ReportSection input_section(const RunRow& row) {
  ReportSection section{.heading = "Run it again"};
  if (is_measured_elsewhere(row)) {
    section.heading = "Origin";
    section.lines = {fmt::format("Run {} ({}) of {}, read by roofcast {}.", row.id,
                                 kind_title(row.kind), row.created_at, row.tool_version)};
    section.commands.push_back(row.command_line);
    if (!row.scenario_json.empty()) section.commands.push_back(indented(row.scenario_json));
    return section;
  }
  section.lines = {
      fmt::format("Run {} ({}), made {} by roofcast {}; seed {}{}.", row.id, kind_title(row.kind),
                  row.created_at, row.tool_version, row.seed,
                  row.profile_hash.empty() ? "" : ", hardware profile " + row.profile_hash)};
  section.commands.push_back(row.command_line);
  if (!row.scenario_json.empty()) section.commands.push_back(indented(row.scenario_json));
  return section;
}

std::string report_footer(const RunRow& row) {
  return fmt::format("Report by Roofcast {}; run of {}, {} by Roofcast {}.", kVersion,
                     row.created_at, is_measured_elsewhere(row) ? "read" : "made",
                     row.tool_version);
}

Report stored_report(const Run& stored) {
  Report report{.title = report_title(stored.row),
                .answer = stored.row.summary,
                .footer = report_footer(stored.row),
                .machine = report_machine(stored.row)};
  report.facts = {{"Model", stored.row.model},
                  {"Runs on", stored.row.gpu.empty() ? "" : gpu_title(stored.row.gpu)},
                  {"Engine", stored.row.engine}};
  if (!is_measured_elsewhere(stored.row)) {
    report.facts.emplace_back("Seed", std::to_string(stored.row.seed));
  }
  std::erase_if(report.facts,
                [](const auto& fact) { return fact.second.empty() || fact.second == "-"; });
  if (stored.row.kind.starts_with("measure")) report.tiles = measured_tiles(stored);
  // Of one simulation or capacity the store does not know whether its requests were enough.
  if (stored.row.kind != "simulate" && stored.row.kind != "capacity") {
    for (const MetricRow& metric : stored.metrics) {
      // with several seeds, the share of them in which it held
      if (metric.name == "slo_met") report.verdict = metric.value >= 1;
    }
  }
  report.sections.push_back(
      {.heading = "Figures", .figures = stored_figures(stored), .tables = {metrics_table(stored)}});
  report.sections.push_back(input_section(stored.row));
  return report;
}

}  // namespace roofcast

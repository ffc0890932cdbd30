#include "roofcast/stored_runs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

std::int64_t store_simulation(Store& store, const SimulationRun& run,
                              const std::string& command_line, bool keep_requests) {
  Run row = simulation_row(run, command_line, keep_requests);
  for (MetricRow& cost : cost_metrics(run)) row.metrics.push_back(std::move(cost));
  return store.add(row);
}

Run stored_run(const Store& store, const std::string& store_name, std::int64_t id) {
  auto run = store.run(id);
  if (run) return *std::move(run);
  throw Error(fmt::format("{}: no run {} (roofcast runs --store {} lists them)", store_name, id,
                          store_name));
}

std::string words_of(const RunNames& run) {
  std::string text(run.kind);
  const auto add = [&](std::string_view before, std::string_view name) {
    if (!name.empty()) text += fmt::format("{}{}", before, name);
  };
  add(" of ", run.model);
  add(" on ", run.gpu);
  add(", ", run.engine);
  return text;
}

Json to_json(const RunRow& row) {
  return {{"id", row.id},
          {"name", row.name},
          {"kind", row.kind},
          {"created_at", row.created_at},
          {"model", row.model},
          {"gpu", row.gpu},
          {"engine", row.engine},
          {"seed", row.seed},
          {"summary", row.summary},
          {"tool_version", row.tool_version},
          {"command_line", row.command_line}};
}

Json runs_json(std::span<const RunRow> rows, const std::string& store_name) {
  Json json = envelope("runs", {{"store", store_name}});
  json["runs"] = Json::array();
  for (const RunRow& row : rows) json["runs"].push_back(to_json(row));
  return json;
}

Json run_json(const Run& run, const std::string& store_name) {
  Json json = envelope("runs", {{"store", store_name}, {"id", run.row.id}});
  json.update(to_json(run.row));
  json["profile_hash"] = run.row.profile_hash;
  json["scenario"] = parse_bounded<Json>(run.row.scenario_json, store_name);
  json["metrics"] = Json::array();
  for (const MetricRow& metric : run.metrics) {
    json["metrics"].push_back(
        {{"name", metric.name}, {"statistic", metric.statistic}, {"value", metric.value}});
  }
  json["requests_stored"] = run.requests.size();
  return json;
}

}  // namespace roofcast

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

void check_run_name(const std::string& name, const std::string& key) {
  constexpr std::size_t kLongest = 80;
  bool plain = name.size() <= kLongest;
  unsigned char before = 0;
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool is_c1 = before == 0xC2 && byte >= 0x80 && byte <= 0x9F;  // U+0080 to U+009F
    plain = plain && byte >= ' ' && byte != 0x7F && !is_c1;
    before = byte;
  }
  plain = plain && Json(name).dump(-1, ' ', false, Json::error_handler_t::ignore).size() ==
                       Json(name).dump(-1, ' ', false, Json::error_handler_t::replace).size();
  if (!plain) {
    throw UsageError(fmt::format(
        "{}: expected at most {} bytes of UTF-8 text on one line, no control characters", key,
        kLongest));
  }
}

std::string kind_title(const std::string& kind) {
  if (kind == "simulate") return "simulation";
  if (kind == "whatif") return "what if";
  if (kind == "capacity_table") return "capacity of several GPUs";
  if (kind == "measure" || kind == "measured") return "measured run";
  if (kind == "calibrate") return "calibration";
  if (kind == "validate") return "validation";
  return kind;
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
          {"kind_title", kind_title(row.kind)},
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

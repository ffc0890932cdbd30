#include "cli/validate/import_document.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "base/dates.hpp"
#include "base/io/shown.hpp"
#include "base/numbers.hpp"
#include "base/version.hpp"
#include "reports/importers/metric_rows.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {
namespace {

template <class Value>
void put(Json& json, const char* key, const std::optional<Value>& value) {
  if (value) json[key] = *value;
}

void put(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

/// A file's text for a table or the store: shortened, without terminal control characters.
std::string plain(const std::string& text) {
  constexpr std::size_t kLongest = 100;
  return shown(text, kLongest);
}

/// "vllm-0.19.0", in the form of simulated runs.
std::string engine_of(const MeasuredSetting& setting) {
  if (setting.engine_version.empty()) return plain(setting.engine);
  return plain((setting.engine.empty() ? "engine" : setting.engine) + "-" + setting.engine_version);
}

/// "h100 x 4"
std::string gpu_of(const MeasuredSetting& setting) {
  const auto ways = [](const std::optional<std::int64_t>& number) {
    return static_cast<double>(number.value_or(1));
  };
  const double product = ways(setting.tensor) * ways(setting.pipeline) * ways(setting.data);
  const double count = setting.gpus ? ways(setting.gpus) : product;
  const std::string name = plain(setting.gpu);
  return count > 1 ? fmt::format("{} x {}", name, fixed(count, 0)) : name;
}

/// "10 requests/s, at most 8 at a time, 1024 in, 128 out"
std::string load_of(const MeasuredSetting& setting) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (const auto rate = setting.request_rate_per_s) {
    add(std::isinf(*rate) ? "all at once" : fmt::format("{:g} requests/s", *rate));
  }
  if (setting.max_concurrency) add(fmt::format("at most {} at a time", *setting.max_concurrency));
  if (setting.mean_input_tokens) add(fixed(*setting.mean_input_tokens, 0) + " in");
  if (setting.mean_output_tokens) add(fixed(*setting.mean_output_tokens, 0) + " out");
  return text;
}

/// Mean, or median if the file has no mean.
std::string latency_cell(const MeasuredRun& run, std::string_view name) {
  if (const auto mean = find_metric(run, name, "mean")) return as_time(Seconds{*mean});
  const auto median = find_metric(run, name, "p50");
  return median ? as_time(Seconds{*median}) + " (p50)" : "";
}

std::string rate_cell(const MeasuredRun& run, std::string_view name, int decimals) {
  const auto value = find_metric(run, name, "value");
  return value ? fixed(*value, decimals) : "";
}

bool serves_requests(const MeasuredRun& run) {
  return !latency_cell(run, "ttft_s").empty() || !latency_cell(run, "tpot_s").empty() ||
         !latency_cell(run, "e2e_s").empty() || find_metric(run, "output_tokens_per_s", "value");
}

std::string run_cell(const ImportedRun& imported, std::size_t place) {
  return imported.id ? std::to_string(*imported.id) : fmt::format("-{}", place + 1);
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
        {run_cell(runs[i], i), run.format, plain(run.setting.model), gpu_of(run.setting),
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
    table.rows.push_back({metric.name, metric.statistic, fmt::format("{:.6g}", metric.value)});
  }
  return table;
}

Json run_json(const ImportedRun& imported) {
  const MeasuredRun& run = imported.run;
  Json metrics = Json::array();
  for (const MetricRow& metric : run.metrics) {
    metrics.push_back(
        {{"name", metric.name}, {"statistic", metric.statistic}, {"value", metric.value}});
  }
  return {{"id", imported.id ? Json(*imported.id) : Json(nullptr)},
          {"origin", run.origin},
          {"format", run.format},
          {"created_at", run.created_at},
          {"setting", setting_json(run.setting)},
          {"metrics", std::move(metrics)},
          {"requests", run.requests.size()},
          {"warnings", run.warnings}};
}

std::string summary_of(const MeasuredRun& run) {
  std::string text = run.format;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format(", {} {}", name, value);
  };
  add("requests/s", rate_cell(run, "request_rate_per_s", 2));
  add("TTFT", latency_cell(run, "ttft_s"));
  add("TPOT", latency_cell(run, "tpot_s"));
  add("E2E", latency_cell(run, "e2e_s"));
  add("output tokens/s", rate_cell(run, "output_tokens_per_s", 0));
  add("KV tokens", rate_cell(run, "kv_tokens", 0));
  return text;
}

/// Appends without a search, since keys are unique already: searching is quadratic in their number,
/// and a result may have millions.
Json other_json(const std::map<std::string, std::string>& other) {
  Json json = Json::object();
  auto& members = json.get_ref<Json::object_t&>();
  members.reserve(other.size());
  for (const auto& [key, value] : other) members.emplace_back(key, Json::parse(value));
  return json;
}

}  // namespace

Json setting_json(const MeasuredSetting& setting) {
  Json json = Json::object();
  put(json, "model", setting.model);
  put(json, "gpu", setting.gpu);
  put(json, "engine", setting.engine);
  put(json, "engine_version", setting.engine_version);
  put(json, "quantization", setting.quantization);
  put(json, "tensor", setting.tensor);
  put(json, "pipeline", setting.pipeline);
  put(json, "data", setting.data);
  put(json, "gpus", setting.gpus);
  if (const auto rate = setting.request_rate_per_s) {
    json["request_rate"] = std::isinf(*rate) ? Json("inf") : Json(*rate);
  }
  put(json, "max_concurrency", setting.max_concurrency);
  put(json, "requests", setting.requests);
  put(json, "mean_input_tokens", setting.mean_input_tokens);
  put(json, "mean_output_tokens", setting.mean_output_tokens);
  if (!setting.other.empty()) json["other"] = other_json(setting.other);
  return json;
}

Run measured_row(const MeasuredRun& run, const std::string& command_line, bool keep_requests) {
  Json scenario = {{"origin", run.origin}, {"format", run.format}};
  scenario["setting"] = setting_json(run.setting);
  scenario["warnings"] = run.warnings;
  Run row;
  row.row = {.kind = "measured",
             .created_at = run.created_at.empty() ? utc_now() : run.created_at,
             .tool_version = kVersion,
             .command_line = command_line,
             .model = plain(run.setting.model),
             .gpu = gpu_of(run.setting),
             .engine = engine_of(run.setting),
             .scenario_json = scenario.dump(-1, ' ', false, Json::error_handler_t::replace),
             .profile_hash = "",
             .summary = summary_of(run)};
  row.metrics = run.metrics;
  if (keep_requests) row.requests = run.requests;
  return row;
}

Document import_document(const std::vector<ImportedRun>& runs, Json inputs) {
  Document document{.machine = envelope("runs import", std::move(inputs)), .sections = {}};
  Json all = Json::array();
  for (const ImportedRun& imported : runs) all.push_back(run_json(imported));
  document.machine["runs"] = std::move(all);
  document.sections.push_back({.heading = "", .lines = {}, .table = runs_table(runs)});
  for (const ImportedRun& imported : runs) {
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

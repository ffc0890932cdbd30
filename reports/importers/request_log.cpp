// One request per line, as LLMServingSim's benchmark logs them from vLLM's own counters
// (casys-kaist/LLMServingSim commit 5daddb2, bench): arrival_time is the time of day at which the
// front end received a request; all *_ts are on a monotonic clock of the engine. A meta.json next
// to the file has the setting.
//
// TTFT and E2E start at queued_ts, as in the authors' own summary: it states a mean TTFT of
// 65,456.6 ms for their RTX 4090 run, and the mean of first_token_ts - queued_ts is 65.4566 s. They
// exclude the 30 ms or so from the front end to the engine's queue, which lie between a request's
// arrival_s and sent_s. The two clocks are aligned by the request with the shortest such delay.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/request_statistics.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

double must(const JsonReader& object, const char* key) {
  const auto value = object.number(key);
  if (!value || !std::isfinite(*value)) object.refuse(key, "a time in seconds");
  return *value;
}

/// The arrival is on the front end's clock, all other times on the engine's.
RequestRow logged_request(const JsonReader& line) {
  RequestRow row{.arrival_s = must(line, "arrival_time"),
                 .sent_s = must(line, "queued_ts"),
                 .scheduled_s = line.number("scheduled_ts"),
                 .first_token_s = line.number("first_token_ts"),
                 .finished_s = line.number("last_token_ts"),
                 .input_tokens = line.count("input_toks").value_or(0),
                 .output_tokens = line.count("output_toks").value_or(0)};
  return row;
}

/// Shifts the engine's clock so that the request queued fastest has no delay after its arrival.
void join_clocks(std::vector<RequestRow>& requests) {
  std::optional<double> offset;
  for (const RequestRow& row : requests) {
    const double delay = *row.sent_s - row.arrival_s;
    offset = std::min(offset.value_or(delay), delay);
  }
  for (RequestRow& row : requests) {
    for (auto* time : {&row.sent_s, &row.scheduled_s, &row.first_token_s, &row.finished_s}) {
      if (*time) **time -= *offset;
    }
  }
}

void read_log_setting(MeasuredRun& run, const JsonReader& meta) {
  MeasuredSetting& setting = run.setting;
  setting.engine = "vllm";
  setting.engine_version = meta.text("vllm_version").value_or("");
  setting.model = meta.text("model").value_or("");
  setting.gpu = meta.part("hardware").text("device_name").value_or("");
  const JsonReader arguments = meta.part("engine_kwargs");
  for (const auto& [key, value] : arguments.value().items()) {
    if (key != "model") set_from_key(setting, key, value, meta.where());
  }
  setting.requests = meta.count("num_requests");
  const JsonReader cache = meta.part("kv_cache");
  add_metric(run, "kv_blocks", "value", cache.number("num_gpu_blocks"));
  add_metric(run, "kv_tokens", "value", cache.number("num_kv_tokens"));
  for (const char* key : {"block_size", "gpu_memory_utilization", "enable_prefix_caching"}) {
    if (cache.has(key)) setting.other[key] = as_other(cache.value().at(key));
  }
  run.created_at = meta.text("started_at").value_or("");
}

}  // namespace

bool is_request_log(const json& first) {
  return first.contains("arrival_time") && first.contains("queued_ts") &&
         first.contains("first_token_ts");
}

MeasuredRuns read_request_log(ResultObjects& objects) {
  MeasuredRun run{.origin = objects.path(), .format = "request-log"};
  while (const auto line = objects.next()) run.requests.push_back(logged_request(*line));
  join_clocks(run.requests);
  finish_request_run(run);
  const auto meta = std::filesystem::path(objects.path()).parent_path() / "meta.json";
  if (!std::filesystem::is_regular_file(meta)) {
    run.warnings.emplace_back(
        "no meta.json next to the file: give `meta` model=... gpu=... engine=...");
    return {std::move(run)};
  }
  ByteSource bytes(meta.string());
  ResultObjects setting(bytes);
  if (const auto object = setting.next()) read_log_setting(run, *object);
  return {std::move(run)};
}

}  // namespace roofcast

// inference-perf's per_request_lifecycle_metrics.json: every request with its times on one clock,
// in seconds. Older releases keep counts and token times in `info` itself, newer ones in its
// request_metrics and response_metrics. The first token is the first time in either list, also in
// releases that recorded every token twice.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/importers/formats.hpp"
#include "reports/importers/request_statistics.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

/// When the first token arrived, if the response was streamed.
std::optional<double> first_token(const JsonReader& response) {
  for (const char* key : {"output_token_times", "chunk_times"}) {
    const auto times = response.numbers(key);
    if (times && !times->empty()) return *std::min_element(times->begin(), times->end());
  }
  return std::nullopt;
}

RequestRow request_of(const JsonReader& entry) {
  const auto start = entry.number("start_time");
  if (!start || !std::isfinite(*start)) entry.refuse("start_time", "a time in seconds");
  const JsonReader info = entry.part("info");
  const bool nested = info.has("response_metrics");
  const JsonReader response = nested ? info.part("response_metrics") : info;
  const JsonReader prompt = info.part("request_metrics").part("text");
  RequestRow row{.arrival_s = *start,
                 .sent_s = *start,
                 .input_tokens = (nested ? prompt : info).count("input_tokens").value_or(0),
                 .output_tokens = response.count("output_tokens").value_or(0)};
  if (entry.has("error")) return row;  // a failed request has no times
  row.first_token_s = first_token(response);
  row.finished_s = entry.number("end_time");
  return row;
}

}  // namespace

bool is_inference_perf_requests(const json& first) {
  const auto info = first.find("info");
  return first.contains("start_time") && first.contains("end_time") && info != first.end() &&
         info->is_object() &&
         (info->contains("response_metrics") || info->contains("output_token_times") ||
          info->contains("output_tokens"));
}

MeasuredRuns read_inference_perf_requests(ResultObjects& objects) {
  MeasuredRun run{.origin = objects.path(), .format = "inference-perf-requests"};
  while (const auto entry = objects.next()) run.requests.push_back(request_of(*entry));
  finish_request_run(run);
  return {std::move(run)};
}

}  // namespace roofcast

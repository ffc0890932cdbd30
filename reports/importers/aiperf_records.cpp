// aiperf's profile_export.jsonl: one request per line, times in nanoseconds since 1970, metrics
// with their unit.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/metric_units.hpp"
#include "reports/importers/request_statistics.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr double kSecondsPerNanosecond = 1e-9;

std::optional<double> metric_of(const JsonReader& metrics, const char* tag) {
  if (!metrics.has(tag)) return std::nullopt;
  const JsonReader metric = metrics.part(tag);
  const auto factor = unit_in_si(metric.text("unit").value_or(""));
  if (!factor) metric.refuse("unit", "a unit such as ms, sec, tokens");
  const auto value = metric.number("value");
  return value ? std::optional(*value * *factor) : std::nullopt;
}

std::int64_t tokens_of(const JsonReader& metrics, const char* tag) {
  return metrics.part(tag).count("value").value_or(0);
}

void add_gaps(std::vector<double>& pooled, const JsonReader& metrics) {
  if (!metrics.has("inter_chunk_latency")) return;
  const JsonReader metric = metrics.part("inter_chunk_latency");
  const auto factor = unit_in_si(metric.text("unit").value_or("ms"));
  if (!factor) metric.refuse("unit", "a unit of time such as ms, sec");
  for (const double gap : metric.numbers("value").value_or(std::vector<double>{})) {
    pooled.push_back(gap * *factor);
  }
}

double start_of(const JsonReader& record) {
  const JsonReader metadata = record.part("metadata");
  const auto start = metadata.number("request_start_ns");
  if (!start) metadata.refuse("request_start_ns", "nanoseconds");
  return *start;
}

/// `origin_ns` is subtracted first: seconds since 1970 would leave a double too few digits.
RequestRow request_of(const JsonReader& record, double origin_ns) {
  const JsonReader metrics = record.part("metrics");
  RequestRow row{.arrival_s = (start_of(record) - origin_ns) * kSecondsPerNanosecond,
                 .input_tokens = tokens_of(metrics, "input_sequence_length"),
                 .output_tokens = tokens_of(metrics, "output_sequence_length")};
  row.sent_s = row.arrival_s;
  if (record.has("error")) return row;
  if (const auto ttft = metric_of(metrics, "time_to_first_token")) {
    row.first_token_s = row.arrival_s + *ttft;
  }
  if (const auto e2e = metric_of(metrics, "request_latency")) {
    row.finished_s = row.arrival_s + *e2e;
  }
  return row;
}

}  // namespace

bool is_aiperf_records(const json& first) {
  const auto metadata = first.find("metadata");
  return metadata != first.end() && metadata->is_object() &&
         metadata->contains("request_start_ns") && first.contains("metrics");
}

MeasuredRuns read_aiperf_records(ResultObjects& objects) {
  MeasuredRun run{.origin = objects.path(), .format = "aiperf-records"};
  std::vector<double> gaps;
  std::optional<double> origin_ns;
  while (const auto record = objects.next()) {
    const std::string phase = record->part("metadata").text("benchmark_phase").value_or("");
    if (phase == "warmup") continue;
    if (!origin_ns) origin_ns = start_of(*record);
    run.requests.push_back(request_of(*record, *origin_ns));
    add_gaps(gaps, record->part("metrics"));
  }
  finish_request_run(run);
  add_samples(run, "itl_s", std::move(gaps));
  return {std::move(run)};
}

}  // namespace roofcast

// guidellm's benchmarks.json, versions 1 and 2: one entry per rate. Its inter_token_latency is our
// TPOT; its time_per_output_token counts the first token, so it is E2E over all tokens (ntpot_s).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/request_statistics.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr std::array kGuidellmDistributions = {
    ValueKey{"request_latency", "e2e_s", 1},
    ValueKey{"time_to_first_token_ms", "ttft_s", kSecondsPerMillisecond},
    ValueKey{"inter_token_latency_ms", "tpot_s", kSecondsPerMillisecond},
    ValueKey{"time_per_output_token_ms", "ntpot_s", kSecondsPerMillisecond},
};

constexpr std::array kGuidellmValues = {
    ValueKey{"requests_per_second", "request_rate_per_s", 1},
    ValueKey{"request_concurrency", "mean_concurrency", 1},
    ValueKey{"output_tokens_per_second", "output_tokens_per_s", 1},
    ValueKey{"tokens_per_second", "total_tokens_per_s", 1},
};

/// guidellm splits every metric by how requests ended.
JsonReader successful(const JsonReader& metrics, std::string_view key) {
  return metrics.part(key).part("successful");
}

void read_guidellm_metrics(MeasuredRun& run, const JsonReader& benchmark) {
  const JsonReader metrics = benchmark.part("metrics");
  for (const ValueKey& known : kGuidellmDistributions) {
    const JsonReader distribution = successful(metrics, known.key);
    add_statistics(run, known.metric, distribution, known.unit);
    add_statistics(run, known.metric, distribution.part("percentiles"), known.unit);
  }
  for (const ValueKey& known : kGuidellmValues) {
    add_metric(run, known.metric, "value", successful(metrics, known.key).number("mean"),
               known.unit);
  }
  set_lengths(run.setting, successful(metrics, "prompt_token_count"),
              successful(metrics, "output_token_count"));
}

/// Version 2 has the counts in scheduler_metrics, version 1 in run_stats or request_totals.
void read_counts(MeasuredRun& run, const JsonReader& benchmark) {
  add_metric(run, "makespan_s", "value", benchmark.number("duration"));
  for (const JsonReader& counts :
       {benchmark.part("scheduler_metrics").part("requests_made"),
        benchmark.part("run_stats").part("requests_made"), benchmark.part("request_totals")}) {
    add_metric(run, "requests_completed", "value", counts.number("successful"));
    add_metric(run, "requests_failed", "value", counts.number("errored"));
    add_metric(run, "requests_incomplete", "value", counts.number("incomplete"));
  }
}

void read_strategy(MeasuredSetting& setting, const JsonReader& strategy) {
  setting.request_rate_per_s = strategy.number("rate");
  for (const char* key : {"streams", "max_concurrency"}) {
    if (strategy.has(key)) setting.max_concurrency = strategy.count(key);
  }
  const std::string type = strategy.text("type_").value_or("");
  if (type == "synchronous") setting.max_concurrency = 1;
  const bool at_once = type == "throughput" && !setting.max_concurrency;
  if (at_once) setting.request_rate_per_s = std::numeric_limits<double>::infinity();
  if (type == "constant") setting.other["burstiness"] = as_other("inf");  // equal gaps
  if (!type.empty()) setting.other["strategy"] = as_other(json(type));
}

/// The model is in `backend` in version 2; in version 1 `backend` is a string and the model is next
/// to it.
std::string model_of(const JsonReader& report) {
  const JsonReader spec = report.part("config").part("spec");
  if (spec.has("backend")) return spec.part("backend").text("model").value_or("");
  return report.part("args").text("model").value_or("");
}

/// The value of either key: keys were renamed between versions.
std::optional<double> either(const JsonReader& object, const char* key, const char* other) {
  const auto value = object.number(key);
  return value ? value : object.number(other);
}

/// Requests are listed in the order in which they ended, so any of them may have started first.
void read_requests(MeasuredRun& run, const JsonReader& benchmark) {
  const auto requests = benchmark.part("requests").objects("successful");
  if (requests.empty()) return;
  std::optional<double> first;
  for (const JsonReader& request : requests) {
    const auto start = either(request, "request_start_time", "start_time");
    if (start) first = std::min(first.value_or(*start), *start);
  }
  const double origin = first.value_or(0);
  for (const JsonReader& request : requests) {
    const auto start = either(request, "request_start_time", "start_time");
    const auto latency = request.number("request_latency");
    const auto ttft = request.number("time_to_first_token_ms");
    if (!start || !latency) continue;
    RequestRow row{.index = static_cast<std::int64_t>(run.requests.size()),
                   .arrival_s = *start - origin,
                   .input_tokens = request.count("prompt_tokens").value_or(0),
                   .output_tokens = request.count("output_tokens").value_or(0)};
    row.sent_s = row.arrival_s;
    row.finished_s = row.arrival_s + *latency;
    if (ttft) row.first_token_s = row.arrival_s + *ttft * kSecondsPerMillisecond;
    run.requests.push_back(row);
  }
  check_requests(run);
  add_request_metrics(run);
}

}  // namespace

bool is_guidellm(const json& first) {
  const auto benchmarks = first.find("benchmarks");
  return benchmarks != first.end() && benchmarks->is_array() &&
         (first.contains("metadata") || first.contains("config") || first.contains("args") ||
          (!benchmarks->empty() && (*benchmarks)[0].is_object() &&
           (*benchmarks)[0].contains("metrics")));
}

void read_guidellm(const JsonReader& report, MeasuredRuns& runs) {
  std::size_t place = 0;
  for (const JsonReader& benchmark : report.objects("benchmarks")) {
    MeasuredRun run{.origin = fmt::format("{}, benchmark {}", report.where(), ++place),
                    .format = "guidellm"};
    run.setting.model = model_of(report);
    const bool nested = benchmark.part("config").has("strategy");
    read_strategy(run.setting, nested ? benchmark.part("config").part("strategy")
                                      : benchmark.part("args").part("strategy"));
    read_guidellm_metrics(run, benchmark);
    read_counts(run, benchmark);
    read_requests(run, benchmark);
    runs.push_back(std::move(run));
  }
}

}  // namespace roofcast

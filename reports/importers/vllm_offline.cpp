// `vllm bench latency --output-json` and `vllm bench throughput --output-json`. Neither states its
// setting: model, batch and lengths come from --meta.
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

/// Both submit all requests before the engine starts.
constexpr double kAtOnce = std::numeric_limits<double>::infinity();

constexpr std::array kThroughputValues = {
    ValueKey{"elapsed_time", "makespan_s"},
    ValueKey{"num_requests", "requests_completed"},
    ValueKey{"total_num_tokens", "total_tokens"},
    ValueKey{"requests_per_second", "request_rate_per_s"},
    ValueKey{"tokens_per_second", "total_tokens_per_s"},  // input and output tokens
};

}  // namespace

bool is_vllm_latency(const json& first) {
  return first.contains("avg_latency") && first.contains("latencies");
}

/// Requests of equal lengths start and end together, so the batch time is the E2E of each.
void read_vllm_latency(const JsonReader& object, MeasuredRuns& runs) {
  MeasuredRun run{.origin = object.where(), .format = "vllm-bench-latency"};
  run.setting.engine = "vllm";
  run.setting.request_rate_per_s = kAtOnce;
  add_metric(run, "e2e_s", "mean", object.number("avg_latency"));
  add_metric(run, "e2e_s", "std", object.number("std_latency"));
  const JsonReader percentiles = object.part("percentiles");
  for (const auto& [key, value] : percentiles.value().items()) {
    if (number_in(std::string_view(key)))
      add_metric(run, "e2e_s", "p" + key, percentiles.number(key));
  }
  add_samples(run, "e2e_s", object.numbers("latencies").value_or(std::vector<double>{}));
  run.warnings.emplace_back(
      "the file does not state its batch: give `meta` batch_size=8 input_len=32 output_len=128");
  runs.push_back(std::move(run));
}

bool is_vllm_throughput(const json& first) {
  return first.contains("elapsed_time") && first.contains("requests_per_second") &&
         first.contains("tokens_per_second");
}

void read_vllm_throughput(const JsonReader& object, MeasuredRuns& runs) {
  MeasuredRun run{.origin = object.where(), .format = "vllm-bench-throughput"};
  run.setting.engine = "vllm";
  run.setting.request_rate_per_s = kAtOnce;
  run.setting.requests = object.count("num_requests");
  add_values(run, object, kThroughputValues);
  runs.push_back(std::move(run));
}

}  // namespace roofcast

// `vllm bench serve --save-result [--save-detailed] [--append-result]`, and the same with a sweep's
// keys merged in (vllm/benchmarks/serve.py and sweep/serve.py, 2025 and 2026).
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/importers/detailed_requests.hpp"
#include "reports/importers/formats.hpp"
#include "reports/importers/latency_keys.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr std::array kVllmServeValues = {
    ValueKey{"duration", "makespan_s"},
    ValueKey{"completed", "requests_completed"},
    ValueKey{"failed", "requests_failed"},
    ValueKey{"total_input_tokens", "input_tokens"},
    ValueKey{"total_output_tokens", "output_tokens"},
    ValueKey{"request_throughput", "request_rate_per_s"},
    ValueKey{"request_goodput", "goodput_per_s"},
    ValueKey{"request_goodput:", "goodput_per_s"},  // spelling of very old releases
    ValueKey{"output_throughput", "output_tokens_per_s"},
    ValueKey{"total_token_throughput", "total_tokens_per_s"},
    ValueKey{"max_output_tokens_per_s", "peak_output_tokens_per_s"},
    ValueKey{"max_concurrent_requests", "peak_concurrency"},
    ValueKey{"spec_decode_acceptance_length", "acceptance_length"},
};

bool is_vllm_serve_value(std::string_view key) {
  return is_among(kVllmServeValues, key) || is_latency_key(key, "_ms");
}

void read_vllm_serve_setting(MeasuredRun& run, const JsonReader& object) {
  for (const auto& [key, value] : object.value().items()) {
    if (value.is_array() || is_vllm_serve_value(key)) continue;
    set_from_key(run.setting, key, value, object.where());
  }
  // The client's protocol, which names the server only if that has a protocol of its own; "openai"
  // does not.
  MeasuredSetting& setting = run.setting;
  for (const char* key : {"endpoint_type", "backend"}) {
    if (setting.engine.empty()) setting.engine = engine_in(object.text(key).value_or(""));
  }
  set_mean_lengths(run);
}

/// --percentile-metrics excludes E2E by default. A value derived from means is not a measured
/// figure, so it gets its own name.
void derive_e2e(MeasuredRun& run) {
  const auto ttft = find_metric(run, "ttft_s", "mean");
  const auto tpot = find_metric(run, "tpot_s", "mean");
  const auto tokens = run.setting.mean_output_tokens;
  if (find_metric(run, "e2e_s", "mean") || !ttft || !tpot || !tokens || *tokens < 1) return;
  add_metric(run, "derived_e2e_s", "mean", *ttft + *tpot * (*tokens - 1));
  run.warnings.emplace_back(
      "the file has no E2E: derived_e2e_s is TTFT + TPOT x (n - 1) of the means, inexact if "
      "lengths differ");
}

}  // namespace

bool is_vllm_serve(const json& first) {
  const auto rate = first.find("request_throughput");
  return rate != first.end() && rate->is_number() && first.contains("num_prompts") &&
         first.contains("total_output_tokens");
}

void read_vllm_serve(const JsonReader& object, MeasuredRuns& runs) {
  MeasuredRun run{.origin = object.where(), .format = "vllm-bench-serve"};
  add_values(run, object, kVllmServeValues);
  add_latency_keys(run, object, {.suffix = "_ms", .unit = kSecondsPerMillisecond});
  read_vllm_serve_setting(run, object);
  add_detailed_requests(run, object);
  derive_e2e(run);
  runs.push_back(std::move(run));
}

}  // namespace roofcast

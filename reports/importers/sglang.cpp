// SGLang: `python -m sglang.bench_serving` (one line per run; sglang/benchmark/serving.py) and
// bench_one_batch_server (one line per batch).
#include <array>
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

constexpr std::array kSglangValues = {
    ValueKey{"duration", "makespan_s"},
    ValueKey{"completed", "requests_completed"},
    ValueKey{"total_input_tokens", "input_tokens"},
    ValueKey{"total_output_tokens", "output_tokens"},
    ValueKey{"request_throughput", "request_rate_per_s"},
    ValueKey{"input_throughput", "input_tokens_per_s"},
    ValueKey{"output_throughput", "output_tokens_per_s"},
    ValueKey{"total_throughput", "total_tokens_per_s"},
    ValueKey{"concurrency", "mean_concurrency"},  // achieved: sum of E2E / duration
    ValueKey{"max_output_tokens_per_s", "peak_output_tokens_per_s"},
    ValueKey{"max_concurrent_requests", "peak_concurrency"},
    ValueKey{"accept_length", "acceptance_length"},
};

bool is_sglang_value(std::string_view key) {
  return is_among(kSglangValues, key) || is_latency_key(key, "_ms");
}

/// The server's own arguments, which newer files have.
void read_server(MeasuredSetting& setting, const JsonReader& server) {
  for (const char* key :
       {"model_path", "tp_size", "pp_size", "dp_size", "quantization", "sglang_version"}) {
    if (server.has(key)) set_from_key(setting, key, server.value().at(key), server.where());
  }
  if (setting.engine_version.empty()) {
    setting.engine_version = server.text("version").value_or("");
  }
  for (const char* key :
       {"ep_size", "enable_dp_attention", "disaggregation_mode", "speculative_algorithm"}) {
    if (server.has(key)) setting.other[key] = as_other(server.value().at(key));
  }
  share_attention(setting, server.where());
}

void read_sglang_setting(MeasuredRun& run, const JsonReader& object) {
  MeasuredSetting& setting = run.setting;
  for (const auto& [key, value] : object.value().items()) {
    const bool replayed = key == "request_rate" && value == "trace";
    if (value.is_array() || is_sglang_value(key)) continue;
    if (replayed) {
      setting.other[key] = as_other(value);
    } else {
      set_from_key(setting, key, value, object.where());
    }
  }
  setting.engine = engine_in(object.text("backend").value_or(""));
  if (setting.engine.empty() && object.has("server_info")) setting.engine = "sglang";
  read_server(setting, object.part("server_info"));
  set_mean_lengths(run);
}

/// If the file has a separate `ttft`, `output_throughput` covers decode alone: batch x output_len /
/// (latency - ttft). So do all releases that write `ttft` (bench_one_batch_server, 2025 on). Older
/// ones divide by the whole latency, as we do.
void read_batch_rate(MeasuredRun& run, const JsonReader& object) {
  const auto told = object.number("output_throughput");
  const auto latency = object.number("latency");
  const auto ttft = object.number("ttft");
  const auto batch = object.number("batch_size");
  const auto tokens = object.number("output_len");
  if (!ttft || !latency || !batch || !tokens || *latency <= 0) {
    add_metric(run, "output_tokens_per_s", "value", told);
    return;
  }
  add_metric(run, "decode_tokens_per_s", "value", told);
  add_metric(run, "output_tokens_per_s", "value", *batch * *tokens / *latency);
  if (*tokens > 1) add_metric(run, "tpot_s", "mean", (*latency - *ttft) / (*tokens - 1));
}

}  // namespace

bool is_sglang_serving(const json& first) {
  return first.contains("total_output_tokens_retokenized") || first.contains("mean_e2e_latency_ms");
}

void read_sglang_serving(const JsonReader& object, MeasuredRuns& runs) {
  MeasuredRun run{.origin = object.where(), .format = "sglang-bench-serving"};
  add_values(run, object, kSglangValues);
  add_latency_keys(run, object, {.suffix = "_ms", .unit = kSecondsPerMillisecond});
  const JsonReader cache = object.part("cache_report");
  add_metric(run, "prefix_query_tokens", "value", cache.number("total_prompt_tokens"));
  add_metric(run, "prefix_hit_tokens", "value", cache.number("total_cached_tokens"));
  read_sglang_setting(run, object);
  add_detailed_requests(run, object);
  runs.push_back(std::move(run));
}

bool is_sglang_batch(const json& first) {
  return first.contains("run_name") && first.contains("batch_size") &&
         first.contains("input_len") && first.contains("output_len");
}

/// One batch without arrivals: its latency is the E2E of each request.
void read_sglang_batch(const JsonReader& object, MeasuredRuns& runs) {
  constexpr std::array kBatchValues = {
      ValueKey{"overall_throughput", "total_tokens_per_s"},
      ValueKey{"acc_length", "acceptance_length"},
  };
  MeasuredRun run{.origin = object.where(), .format = "sglang-one-batch"};
  MeasuredSetting& setting = run.setting;
  setting.engine = "sglang";
  add_metric(run, "e2e_s", "mean", object.number("latency"));
  add_metric(run, "ttft_s", "mean", object.number("ttft"));
  add_values(run, object, kBatchValues);
  read_batch_rate(run, object);
  const auto batch = object.count("batch_size");
  setting.max_concurrency = batch;
  setting.requests = batch;
  setting.mean_input_tokens = object.number("input_len");
  setting.mean_output_tokens = object.number("output_len");
  for (const char* key : {"run_name", "batch_size"}) {
    set_from_key(setting, key, object.value().at(key), object.where());
  }
  runs.push_back(std::move(run));
}

}  // namespace roofcast

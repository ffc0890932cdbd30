// `trtllm-bench ... --report_json` (tensorrt_llm/bench/dataclasses/reporting.py): the one format
// that states nearly its whole setting.
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr std::array kPerformance = {
    ValueKey{"total_latency_ms", "makespan_s", kSecondsPerMillisecond},
    ValueKey{"request_throughput_req_s", "request_rate_per_s"},
    ValueKey{"system_output_throughput_tok_s", "output_tokens_per_s"},
    ValueKey{"system_total_throughput_tok_s", "total_tokens_per_s"},
    ValueKey{"output_throughput_per_user_tok_s", "output_tokens_per_s_per_user"},
    ValueKey{"output_throughput_per_gpu_tok_s", "output_tokens_per_s_per_gpu"},
};

void read_trtllm_setting(MeasuredRun& run, const JsonReader& report) {
  MeasuredSetting& setting = run.setting;
  const JsonReader engine = report.part("engine");
  const JsonReader world = report.part("world_info");
  const JsonReader requests = report.part("request_info");
  setting.engine = "tensorrt-llm";
  setting.engine_version = engine.text("version").value_or("");
  setting.model = engine.text("model").value_or("");
  setting.quantization = engine.text("quantization").value_or(engine.text("dtype").value_or(""));
  setting.gpu = report.part("machine").text("name").value_or("");
  setting.tensor = world.count("tp_size");
  setting.pipeline = world.count("pp_size");
  setting.gpus = world.count("world_size");
  setting.requests = requests.count("num_requests");
  setting.mean_input_tokens = requests.number("avg_input_length");
  setting.mean_output_tokens = requests.number("avg_output_length");
  add_metric(run, "mean_concurrency", "value", requests.number("avg_num_concurrent_requests"));
  // Below 0: no rate was requested, and all requests are issued at once.
  const auto rate = world.number("issue_rate");
  if (rate && *rate != 0) {
    setting.request_rate_per_s = *rate > 0 ? *rate : std::numeric_limits<double>::infinity();
  }
  for (const JsonReader& group : {engine, world}) {
    for (const char* key :
         {"backend", "kv_cache_dtype", "ep_size", "max_batch_size", "max_num_tokens",
          "max_sequence_length", "scheduling_policy", "kv_cache_percentage"}) {
      if (group.has(key)) setting.other[key] = as_other(group.value().at(key));
    }
  }
}

}  // namespace

bool is_trtllm_bench(const json& first) {
  return first.contains("engine") && first.contains("world_info") && first.contains("performance");
}

void read_trtllm_bench(const JsonReader& report, MeasuredRuns& runs) {
  MeasuredRun run{.origin = report.where(), .format = "trtllm-bench"};
  const JsonReader performance = report.part("performance");
  const JsonReader streaming = report.part("streaming_metrics");
  add_values(run, performance, kPerformance);
  constexpr double kUnit = kSecondsPerMillisecond;
  add_statistics(run, "e2e_s", performance.part("request_latency_percentiles_ms"), kUnit);
  add_statistics(run, "ttft_s", streaming.part("ttft_percentiles"), kUnit);
  add_statistics(run, "tpot_s", streaming.part("tpot_percentiles"), kUnit);
  add_metric(run, "e2e_s", "mean", performance.number("avg_request_latency_ms"), kUnit);
  add_metric(run, "ttft_s", "mean", streaming.number("avg_ttft_ms"), kUnit);
  add_metric(run, "tpot_s", "mean", streaming.number("avg_tpot_ms"), kUnit);
  read_trtllm_setting(run, report);
  runs.push_back(std::move(run));
}

}  // namespace roofcast

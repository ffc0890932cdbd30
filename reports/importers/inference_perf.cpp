// inference-perf (kubernetes-sigs): stage_N_lifecycle_metrics.json and
// summary_lifecycle_metrics.json, all times in seconds. The Prometheus files next to them are not
// read.
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/token_times.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr std::array kInferencePerfDistributions = {
    ValueKey{"request_latency", "e2e_s"},
    ValueKey{"time_to_first_token", "ttft_s"},
    ValueKey{"normalized_time_per_output_token", "ntpot_s"},
};

constexpr std::array kInferencePerfValues = {
    ValueKey{"input_tokens_per_sec", "input_tokens_per_s"},
    ValueKey{"output_tokens_per_sec", "output_tokens_per_s"},
    ValueKey{"total_tokens_per_sec", "total_tokens_per_s"},
    ValueKey{"requests_per_sec", "request_rate_per_s"},
};

/// Newer releases write prompt_tokens and output_tokens instead of prompt_len and output_len.
std::optional<double> mean_tokens(const JsonReader& successes, const char* key, const char* newer) {
  const auto tokens = successes.part(key).number("mean");
  return tokens ? tokens : successes.part(newer).number("mean");
}

void read_load(MeasuredRun& run, const JsonReader& load) {
  run.setting.request_rate_per_s = load.number("requested_rate");
  run.setting.max_concurrency = load.count("concurrency");
  run.setting.requests = load.count("count");
  add_metric(run, "offered_rate_per_s", "value", load.number("achieved_rate"));
  add_metric(run, "send_duration_s", "value", load.number("send_duration"));
  // From a request's scheduled time to when it was sent: clients have concurrency limits of their
  // own.
  add_statistics(run, "client_queue_s", load.part("schedule_delay"), 1);
}

}  // namespace

bool is_inference_perf(const json& first) {
  return first.contains("load_summary") && first.contains("successes");
}

void read_inference_perf(const JsonReader& object, MeasuredRuns& runs) {
  MeasuredRun run{.origin = object.where(), .format = "inference-perf"};
  read_load(run, object.part("load_summary"));
  const JsonReader successes = object.part("successes");
  add_metric(run, "requests_completed", "value", successes.number("count"));
  add_metric(run, "requests_failed", "value", object.part("failures").number("count"));
  run.setting.mean_input_tokens = mean_tokens(successes, "prompt_len", "prompt_tokens");
  run.setting.mean_output_tokens = mean_tokens(successes, "output_len", "output_tokens");
  const JsonReader latency = successes.part("latency");
  for (const ValueKey& known : kInferencePerfDistributions) {
    add_statistics(run, known.metric, latency.part(known.key), 1);
  }
  add_values(run, successes.part("throughput"), kInferencePerfValues);
  add_metric(run, "goodput_per_s", "value",
             successes.part("goodput_metrics").number("request_goodput"));
  add_statistics(run, "tpot_s", latency.part("time_per_output_token"), 1);
  add_statistics(run, "itl_s", latency.part("inter_token_latency"), 1);
  check_token_times(run);
  runs.push_back(std::move(run));
}

}  // namespace roofcast

// llmperf: the flat summary and the list of individual responses. Its inter_token_latency_s counts
// the first token, so it is E2E over all tokens (ntpot_s). It counts tokens with a Llama tokenizer
// whatever the model.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr std::array kLlmperfDistributions = {
    ValueKey{"ttft_s", "ttft_s"},
    ValueKey{"end_to_end_latency_s", "e2e_s"},
    ValueKey{"inter_token_latency_s", "ntpot_s"},
    ValueKey{"request_output_throughput_token_per_s", "output_tokens_per_s_per_user"},
};

constexpr double kMinutesPerSecond = 1.0 / 60;

constexpr std::array kLlmperfValues = {
    ValueKey{"results_num_completed_requests", "requests_completed"},
    ValueKey{"results_number_errors", "requests_failed"},
    ValueKey{"results_num_completed_requests_per_min", "request_rate_per_s", kMinutesPerSecond},
    ValueKey{"results_mean_output_throughput_token_per_s", "output_tokens_per_s"},
};

/// Reads "results_ttft_s_quantiles_p99", "results_ttft_s_mean" and so on for ttft_s.
void read_distribution(MeasuredRun& run, const JsonReader& object, const ValueKey& metric) {
  const std::string prefix = "results_" + std::string(metric.key) + "_";
  for (const auto& [key, value] : object.value().items()) {
    if (!key.starts_with(prefix)) continue;
    std::string_view statistic = std::string_view(key).substr(prefix.size());
    if (statistic.starts_with("quantiles_")) statistic.remove_prefix(sizeof("quantiles_") - 1);
    const auto known = statistic_of(statistic);
    if (known) add_metric(run, metric.metric, *known, object.number(key));
  }
}

void read_llmperf_setting(MeasuredSetting& setting, const JsonReader& object) {
  constexpr std::array<std::string_view, 4> kOwn = {"version", "name", "mean_input_tokens",
                                                    "mean_output_tokens"};
  for (const auto& [key, value] : object.value().items()) {
    if (key.starts_with("results_") || value.is_structured()) continue;
    if (std::find(kOwn.begin(), kOwn.end(), key) != kOwn.end()) continue;
    set_from_key(setting, key, value, object.where());
  }
  setting.max_concurrency = object.count("num_concurrent_requests");
  setting.requests = object.count("results_num_requests_started");
  // Achieved lengths, not the requested ones.
  setting.mean_input_tokens = object.number("results_number_input_tokens_mean");
  setting.mean_output_tokens = object.number("results_number_output_tokens_mean");
}

}  // namespace

bool is_llmperf_summary(const json& first) { return first.contains("results_ttft_s_mean"); }

void read_llmperf_summary(const JsonReader& object, MeasuredRuns& runs) {
  MeasuredRun run{.origin = object.where(), .format = "llmperf"};
  for (const ValueKey& metric : kLlmperfDistributions) read_distribution(run, object, metric);
  add_values(run, object, kLlmperfValues);
  read_llmperf_setting(run.setting, object);
  runs.push_back(std::move(run));
}

bool is_llmperf_individual(const json& first) {
  return first.contains("ttft_s") && first.contains("end_to_end_latency_s") &&
         first.contains("number_output_tokens");
}

/// Responses have no start times, so only statistics are read, no requests.
MeasuredRuns read_llmperf_individual(ResultObjects& objects) {
  MeasuredRun run{.origin = objects.path(), .format = "llmperf-individual"};
  std::array<std::vector<double>, kLlmperfDistributions.size()> samples;
  std::vector<double> tpot;
  double failed = 0;
  double completed = 0;
  double input = 0;
  double output = 0;
  while (const auto response = objects.next()) {
    const auto ttft = response->number("ttft_s");
    const auto e2e = response->number("end_to_end_latency_s");
    if (response->has("error_code") || !ttft || !e2e) {
      failed += 1;
      continue;
    }
    completed += 1;
    const double tokens = response->number("number_output_tokens").value_or(0);
    input += response->number("number_input_tokens").value_or(0);
    output += tokens;
    for (std::size_t i = 0; i < kLlmperfDistributions.size(); ++i) {
      if (const auto value = response->number(kLlmperfDistributions[i].key))
        samples[i].push_back(*value);
    }
    if (tokens > 1) tpot.push_back((*e2e - *ttft) / (tokens - 1));
  }
  for (std::size_t i = 0; i < kLlmperfDistributions.size(); ++i) {
    add_samples(run, kLlmperfDistributions[i].metric, std::move(samples[i]));
  }
  add_samples(run, "tpot_s", std::move(tpot));
  add_metric(run, "requests_completed", "value", completed);
  add_metric(run, "requests_failed", "value", failed);
  add_metric(run, "input_tokens", "value", input);
  add_metric(run, "output_tokens", "value", output);
  set_mean_lengths(run);
  return {std::move(run)};
}

}  // namespace roofcast

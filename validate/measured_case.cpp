#include "validate/measured_case.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/io/json_reader.hpp"
#include "base/text.hpp"
#include "planner/launch/serve_formats.hpp"
#include "reports/importers/setting_keys.hpp"
#include "simulator/results/result.hpp"
#include "validate/measured_load.hpp"
#include "validate/measured_options.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

// ---- the setting

std::string engine_of(const MeasuredSetting& setting) {
  const std::string release = release_of(setting.engine_version);
  return release.empty() ? setting.engine : setting.engine + "-" + release;
}

/// The storage format of the weights; unset if the checkpoint determines it. Parsed like a server's
/// --quantization.
std::optional<std::string> weight_format_of(const MeasuredSetting& setting) {
  if (is_activation_format(setting.quantization)) return std::nullopt;
  ServeWords words;
  read_weight_format(words, setting.quantization, "quantization");
  // An unknown format is an error of the case, which lists the nearest names.
  return words.not_modelled.empty() ? words.weight_format : setting.quantization;
}

/// Expert parallelism. Engines report it as a switch, or as a number of ranks above one.
bool has_expert_ranks(const MeasuredSetting& setting) {
  if (switch_in("enable_expert_parallel", value_of(setting, "enable_expert_parallel"))
          .value_or(false)) {
    return true;
  }
  const auto ranks = [&](const char* key) {
    return number_in(value_of(setting, key)).value_or(1) > 1;
  };
  return ranks("ep") || ranks("ep_size") || ranks("expert_parallel_size");
}

json parallel_of(const MeasuredSetting& setting) {
  json parallel = json::object();
  if (setting.tensor) parallel["tensor"] = *setting.tensor;
  if (setting.pipeline) parallel["pipeline"] = *setting.pipeline;
  if (setting.data) parallel["data"] = *setting.data;
  if (has_expert_ranks(setting)) parallel["expert"] = true;
  return parallel;
}

}  // namespace

json scenario_of(const MeasuredRun& run) {
  const MeasuredSetting& setting = run.setting;
  json scenario = json::object();
  if (!setting.model.empty()) scenario["model"] = setting.model;
  if (!setting.gpu.empty()) scenario["gpu"] = setting.gpu;
  if (!setting.engine.empty()) scenario["engine"] = engine_of(setting);
  if (const auto format = weight_format_of(setting)) scenario["quantization"] = *format;
  if (const json parallel = parallel_of(setting); !parallel.empty()) {
    scenario["parallel"] = parallel;
  }
  if (const json options = engine_options_of(setting); !options.empty()) {
    scenario["engine_options"] = options;
  }
  if (setting.max_concurrency.value_or(0) > 0) {
    scenario["max_concurrency"] = *setting.max_concurrency;
  }
  if (const auto load = workload_of(run)) scenario["workload"] = *load;
  return scenario;
}

const std::vector<std::string>& comparable_metrics() {
  static const std::vector<std::string> names = {"ttft_s",
                                                 "tpot_s",
                                                 "itl_s",
                                                 "e2e_s",
                                                 "queue_s",
                                                 "output_tokens_per_s",
                                                 "output_tokens_per_s_per_gpu",
                                                 "mean_power_w_per_gpu",
                                                 "joules_per_output_token",
                                                 "input_tokens_per_s",
                                                 "total_tokens_per_s",
                                                 "request_rate_per_s",
                                                 "makespan_s",
                                                 "preemptions",
                                                 "kv_blocks",
                                                 "kv_tokens",
                                                 "kv_bytes",
                                                 "max_concurrency",
                                                 "max_sequences",
                                                 "step_s"};
  return names;
}

const std::vector<std::string>& comparable_statistics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const DistributionStatistic& statistic : kDistributionStatistics) {
      if (statistic.in_tables) all.emplace_back(statistic.name);
    }
    return all;
  }();
  return names;
}

std::vector<MetricRow> comparable_figures(const MeasuredRun& run) {
  const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<MetricRow> figures;
  for (const MetricRow& row : run.metrics) {
    if (row.value < 0) continue;  // times and counts cannot be negative
    const bool known = row.statistic == "value" || is_in(comparable_statistics(), row.statistic);
    if (known && is_in(comparable_metrics(), row.name)) figures.push_back(row);
  }
  return figures;
}

}  // namespace roofcast

#include "cli/measured_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "model/dtype.hpp"
#include "model/error.hpp"
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

// ---- the setting

/// "0.11.1rc2.dev3+g1a2b" is 0.11.1: eras are told by release.
std::string release_of(const std::string& version) {
  const std::size_t begin = version.starts_with('v') ? 1 : 0;
  std::size_t end = begin;
  bool was_digit = false;
  for (; end < version.size(); ++end) {
    const bool digit = version[end] >= '0' && version[end] <= '9';
    if (!digit && !(version[end] == '.' && was_digit)) break;
    was_digit = digit;
  }
  std::string release = version.substr(begin, end - begin);
  if (release.ends_with('.')) release.pop_back();
  return release;
}

std::string engine_of(const MeasuredSetting& setting) {
  const std::string release = release_of(setting.engine_version);
  return release.empty() ? setting.engine : setting.engine + "-" + release;
}

/// Whether the word is about the format of activations, so that the checkpoint says its weights'.
bool is_sixteen_bit(const std::string& format) {
  constexpr std::array<std::string_view, 8> kWords = {"auto", "none",    "bfloat16", "bf16",
                                                      "half", "float16", "fp16",     "16bit"};
  return std::find(kWords.begin(), kWords.end(), format) != kWords.end();
}

/// A server argument as an engine option, where it has the type of one.
void add_option(json& options, const std::string& key, const json& value) {
  constexpr std::array<std::string_view, 6> kCounts = {
      "max_model_len", "max_num_seqs",       "max_num_batched_tokens",
      "block_size",    "max_prefill_tokens", "num_gpu_blocks_override"};
  constexpr std::array<std::string_view, 5> kSwitches = {"enable_chunked_prefill",
                                                         "enable_prefix_caching", "enforce_eager",
                                                         "async_scheduling", "enable_mixed_chunk"};
  const auto is_in = [&](const auto& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  const bool is_count = is_in(kCounts) && value.is_number_integer() && value > 0;
  const bool is_switch = is_in(kSwitches) && value.is_boolean();
  const bool is_share = key == "gpu_memory_utilization" && value.is_number();
  const bool is_dtype =
      key == "kv_cache_dtype" && value.is_string() && parse_dtype(value.get<std::string>());
  if (is_count || is_switch || is_share || is_dtype) options[key] = value;
}

json engine_options(const MeasuredSetting& setting) {
  json options = json::object();
  for (const auto& [key, text] : setting.other) {
    const json value = json::parse(text, nullptr, false);
    if (!value.is_discarded()) add_option(options, key, value);
  }
  return options;
}

json parallel_of(const MeasuredSetting& setting) {
  json parallel = json::object();
  if (setting.tensor) parallel["tensor"] = *setting.tensor;
  if (setting.pipeline) parallel["pipeline"] = *setting.pipeline;
  if (setting.data) parallel["data"] = *setting.data;
  return parallel;
}

// ---- the load

bool has_finite_rate(const MeasuredSetting& setting) {
  return setting.request_rate_per_s && std::isfinite(*setting.request_rate_per_s) &&
         *setting.request_rate_per_s > 0;
}

std::int64_t requests_of(const MeasuredRun& run) {
  if (run.setting.requests) return *run.setting.requests;
  for (const MetricRow& row : run.metrics) {
    if (row.name == "requests_completed") return std::llround(row.value);
  }
  return SyntheticWorkload{}.num_prompts;
}

/// Nothing where the file does not say how long its requests were.
std::optional<json> drawn_load(const MeasuredRun& run) {
  const MeasuredSetting& setting = run.setting;
  if (!setting.mean_input_tokens || !setting.mean_output_tokens) return std::nullopt;
  const auto whole = [](double tokens) {
    return std::clamp<std::int64_t>(std::llround(std::min(tokens, 1e9)), 1, kMostTokens);
  };
  json load = {{"type", "synthetic"},
               {"input_len", whole(*setting.mean_input_tokens)},
               {"output_len", whole(*setting.mean_output_tokens)},
               {"num_prompts", std::max<std::int64_t>(1, requests_of(run))}};
  if (has_finite_rate(setting)) load["request_rate"] = *setting.request_rate_per_s;
  return load;
}

/// Seconds after the first of all; `first` is their smallest.
Nanoseconds arrival_of(const RequestRow& row, double first, const std::string& origin) {
  constexpr double kLongestRun = 1e8;  // three years
  const double arrival = row.sent_s.value_or(row.arrival_s) - first;
  if (arrival >= 0 && arrival <= kLongestRun) return to_nanoseconds(Seconds{arrival});
  throw Error(fmt::format("{}: request {} came {} s after the first, expected at most {} s", origin,
                          row.index, arrival, kLongestRun));
}

Request request_of(const RequestRow& row, double first, const std::string& origin) {
  if (row.input_tokens > kMostTokens || row.output_tokens > kMostTokens) {
    throw Error(fmt::format("{}: request {} has {} and {} tokens, expected at most {}", origin,
                            row.index, row.input_tokens, row.output_tokens,
                            std::int64_t{kMostTokens}));
  }
  return {.arrival = arrival_of(row, first, origin),
          .input_tokens = std::max<std::int64_t>(1, row.input_tokens),
          .output_tokens = row.output_tokens};
}

/// Where the file does not say when its requests were sent: at their rate, or as slots come free.
void set_arrivals(std::vector<Request>& requests, const MeasuredSetting& setting) {
  if (!has_finite_rate(setting)) {
    if (!setting.max_concurrency) return;
    for (Request& request : requests) request.arrival = 0;
    return;
  }
  if (requests.back().arrival > 0) return;
  const Workload drawn = generate(
      {.num_prompts = std::ssize(requests), .request_rate = *setting.request_rate_per_s}, 0);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].arrival = drawn.requests[i].arrival;
  }
}

}  // namespace

json scenario_of(const MeasuredRun& run) {
  const MeasuredSetting& setting = run.setting;
  json scenario = json::object();
  if (!setting.model.empty()) scenario["model"] = setting.model;
  if (!setting.gpu.empty()) scenario["gpu"] = setting.gpu;
  if (!setting.engine.empty()) scenario["engine"] = engine_of(setting);
  if (!setting.quantization.empty() && !is_sixteen_bit(setting.quantization)) {
    scenario["quantization"] = setting.quantization;
  }
  if (const json parallel = parallel_of(setting); !parallel.empty()) {
    scenario["parallel"] = parallel;
  }
  if (const json options = engine_options(setting); !options.empty()) {
    scenario["engine_options"] = options;
  }
  if (setting.max_concurrency.value_or(0) > 0) {
    scenario["max_concurrency"] = *setting.max_concurrency;
  }
  if (!run.requests.empty()) {
    scenario["workload"] = {{"type", "trace"}, {"path", run.origin}};
  } else if (const auto load = drawn_load(run)) {
    scenario["workload"] = *load;
  }
  return scenario;
}

std::optional<Workload> recorded_workload(const MeasuredRun& run) {
  std::vector<RequestRow> rows = run.requests;
  std::erase_if(rows, [](const RequestRow& row) { return row.output_tokens <= 0; });
  if (rows.empty()) return std::nullopt;
  const auto sent = [](const RequestRow& row) { return row.sent_s.value_or(row.arrival_s); };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const RequestRow& a, const RequestRow& b) { return sent(a) < sent(b); });
  Workload workload;
  for (const RequestRow& row : rows) {
    workload.requests.push_back(request_of(row, sent(rows.front()), run.origin));
  }
  set_arrivals(workload.requests, run.setting);
  workload.description =
      fmt::format("{}: {} as measured", run.origin, counted(std::ssize(rows), "request"));
  const auto failed = std::ssize(run.requests) - std::ssize(rows);
  if (failed > 0) {
    workload.notes.push_back(counted(failed, "request") + " without an output, left out");
  }
  return workload;
}

const std::vector<std::string>& comparable_metrics() {
  static const std::vector<std::string> names = {"ttft_s",
                                                 "tpot_s",
                                                 "itl_s",
                                                 "e2e_s",
                                                 "queue_s",
                                                 "output_tokens_per_s",
                                                 "output_tokens_per_s_per_gpu",
                                                 "input_tokens_per_s",
                                                 "total_tokens_per_s",
                                                 "request_rate_per_s",
                                                 "makespan_s",
                                                 "preemptions",
                                                 "kv_blocks",
                                                 "kv_tokens",
                                                 "max_concurrency",
                                                 "step_s"};
  return names;
}

const std::vector<std::string>& comparable_statistics() {
  static const std::vector<std::string> names = {"mean", "p50", "p90", "p95", "p99", "max"};
  return names;
}

std::vector<MetricRow> comparable_figures(const MeasuredRun& run) {
  const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<MetricRow> figures;
  for (const MetricRow& row : run.metrics) {
    const bool known = row.statistic == "value" || is_in(comparable_statistics(), row.statistic);
    if (known && is_in(comparable_metrics(), row.name)) figures.push_back(row);
  }
  return figures;
}

}  // namespace roofcast

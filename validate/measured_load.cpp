#include "validate/measured_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/json_reader.hpp"
#include "base/wording.hpp"
#include "reports/request_latencies.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

bool has_finite_rate(const MeasuredSetting& setting) {
  return setting.request_rate_per_s && std::isfinite(*setting.request_rate_per_s) &&
         *setting.request_rate_per_s > 0;
}

/// A number stored under its own key; nullopt for other values.
std::optional<double> told(const MeasuredSetting& setting, const char* key) {
  const auto found = setting.other.find(key);
  if (found == setting.other.end()) return std::nullopt;
  const auto number = number_in(json::parse(found->second, nullptr, false));
  return number && !std::isnan(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> requests_of(const MeasuredRun& run) {
  if (run.setting.requests) return run.setting.requests;
  // The batch size, which `vllm bench latency` records only through --meta.
  const auto batch = told(run.setting, "batch_size");
  if (batch && *batch >= 1 && *batch <= kMaxRequests) return std::llround(*batch);
  for (const MetricRow& row : run.metrics) {
    if (row.name == "requests_completed") return std::llround(row.value);
  }
  return std::nullopt;
}

/// Maximum deviation of lengths from their mean in `vllm bench` and SGLang's random prompts, as a
/// share of it; 0 if the file does not state it. vLLM draws from [L (1 - r), L (1 + r)], SGLang
/// from [L r, L], whose middle is L (1 + r) / 2.
double half_range(const MeasuredRun& run) {
  const auto ratio = told(run.setting, "random_range_ratio");
  const auto dataset = run.setting.other.find("dataset_name");
  const bool random = dataset == run.setting.other.end() || dataset->second.starts_with("\"random");
  if (!ratio || !random || *ratio < 0 || *ratio > 1) return 0;
  return run.format.starts_with("sglang") ? (1 - *ratio) / (1 + *ratio) : *ratio;
}

/// Lengths with that mean and the variation stated in the file.
json lengths_of(const MeasuredRun& run, double mean, const char* deviation_key) {
  const auto whole = [](double tokens) {
    return std::clamp<std::int64_t>(std::llround(std::min(tokens, 1e9)), 1, kMaxTokens);
  };
  const double half = half_range(run);
  if (half > 0) {
    return fmt::format("uniform:{}:{}", whole(mean * (1 - half)), whole(mean * (1 + half)));
  }
  const double deviation = told(run.setting, deviation_key).value_or(0);
  const bool spread = std::isfinite(deviation) && deviation >= 0.5;  // tokens
  if (!spread || mean < 1) return whole(mean);
  return fmt::format("normal:{}:{}", whole(mean), deviation);
}

/// The rate, and the variation of gaps: vLLM's ramp, or the gamma shape.
void put_arrivals(json& load, const MeasuredSetting& setting) {
  const auto start = told(setting, "ramp_up_start_rps");
  const auto end = told(setting, "ramp_up_end_rps");
  if (start && end && *start > 0 && *end > 0) {
    load["ramp_up"] = {{"start_rps", *start}, {"end_rps", *end}};
    const auto strategy = setting.other.find("ramp_up_strategy");
    const bool exponential =
        strategy != setting.other.end() && strategy->second == "\"exponential\"";
    if (exponential) load["ramp_up"]["strategy"] = "exponential";
    return;
  }
  if (!has_finite_rate(setting)) return;
  load["request_rate"] = *setting.request_rate_per_s;
  const auto shape = told(setting, "burstiness");
  if (!shape || *shape <= 0 || *shape == 1) return;
  load["burstiness"] = std::isinf(*shape) ? json("inf") : json(*shape);
}

/// Seconds since the first arrival; `first` is the smallest.
Nanoseconds arrival_of(const RequestRow& row, double first, const std::string& origin) {
  constexpr double kLongestRun = 1e8;  // three years
  const double arrival = sent_of(row) - first;
  if (arrival >= 0 && arrival <= kLongestRun) return to_nanoseconds(Seconds{arrival});
  throw Error(fmt::format("{}: request {} arrived {} s after the first, expected at most {} s",
                          origin, row.index, arrival, kLongestRun));
}

Request request_of(const RequestRow& row, double first, const std::string& origin) {
  if (row.input_tokens > kMaxTokens || row.output_tokens > kMaxTokens) {
    throw Error(fmt::format("{}: request {} has {} and {} tokens, expected at most {}", origin,
                            row.index, row.input_tokens, row.output_tokens,
                            std::int64_t{kMaxTokens}));
  }
  return {.arrival = arrival_of(row, first, origin),
          .input_tokens = std::max<std::int64_t>(1, row.input_tokens),
          .output_tokens = row.output_tokens};
}

/// If the file has no send times: arrivals at the stated rate, or as slots become free.
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

/// Whether the file records send times; if not, all are 0.
bool keeps_arrivals(const MeasuredRun& run) {
  return std::any_of(run.requests.begin(), run.requests.end(),
                     [](const RequestRow& row) { return sent_of(row) != 0; });
}

}  // namespace

bool says_load(const MeasuredRun& run) {
  const MeasuredSetting& setting = run.setting;
  return setting.request_rate_per_s.value_or(0) > 0 || setting.max_concurrency.value_or(0) > 0 ||
         keeps_arrivals(run) || run.requests.size() == 1;
}

bool says_requests(const MeasuredRun& run) {
  return !run.requests.empty() || has_finite_rate(run.setting) || run.setting.max_concurrency ||
         requests_of(run);
}

json drawn_load(const MeasuredRun& run) {
  const MeasuredSetting& setting = run.setting;
  json load = {{"type", "synthetic"}};
  if (setting.mean_input_tokens) {
    load["input_len"] = lengths_of(run, *setting.mean_input_tokens, "input_tokens_std");
  }
  if (setting.mean_output_tokens) {
    load["output_len"] = lengths_of(run, *setting.mean_output_tokens, "output_tokens_std");
  }
  if (const auto requests = requests_of(run)) {
    load["num_prompts"] = std::max<std::int64_t>(1, *requests);
  }
  put_arrivals(load, setting);
  return load;
}

std::optional<json> workload_of(const MeasuredRun& run) {
  // Requests without the lengths of their prompts cannot be replayed.
  const bool replays = std::ranges::any_of(
      run.requests, [](const RequestRow& request) { return request.input_tokens > 0; });
  if (replays) return json{{"type", "trace"}, {"path", run.origin}};
  const MeasuredSetting& setting = run.setting;
  if (!setting.mean_input_tokens || !setting.mean_output_tokens) return std::nullopt;
  return drawn_load(run);
}

std::optional<Workload> recorded_workload(const MeasuredRun& run) {
  std::vector<RequestRow> rows = run.requests;
  std::erase_if(rows, [](const RequestRow& row) { return row.output_tokens <= 0; });
  if (rows.empty()) return std::nullopt;
  std::stable_sort(rows.begin(), rows.end(), [](const RequestRow& a, const RequestRow& b) {
    return sent_of(a) < sent_of(b);
  });
  Workload workload;
  for (const RequestRow& row : rows) {
    workload.requests.push_back(request_of(row, sent_of(rows.front()), run.origin));
  }
  set_arrivals(workload.requests, run.setting);
  workload.description =
      fmt::format("{}: {} as measured", run.origin, counted(std::ssize(rows), "request"));
  const auto failed = std::ssize(run.requests) - std::ssize(rows);
  if (failed > 0) {
    workload.notes.push_back(counted(failed, "request") + " left out because they have no output");
  }
  return workload;
}

}  // namespace roofcast

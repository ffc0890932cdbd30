#include "reports/importers/metric_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/distribution.hpp"
#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/numbers.hpp"
#include "reports/request_latencies.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMaxMetrics = 1'000;  // per run; a result has about 50

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "99" of "p99", "99.9" of "p99.9", "p99p9" and "p999", "0.1" of "p0p1" and "p001".
std::optional<std::string> percentile_in(std::string_view key) {
  if (key.size() < 2 || (key[0] != 'p' && key[0] != 'P')) return std::nullopt;
  std::string number(key.substr(1));
  const std::size_t point = number.find_first_of("p.");
  if (point != std::string::npos) {
    number[point] = '.';
    const bool digits = is_digits(number.substr(0, point)) && is_digits(number.substr(point + 1));
    return digits ? std::optional(number) : std::nullopt;
  }
  if (!is_digits(number) || number == "100") return std::nullopt;
  if (number == "001") return "0.1";  // guidellm, whose p01 is 1 % and p999 99.9 %
  if (number == "999") return "99.9";
  if (number.size() == 2 && number[0] == '0') return number.substr(1);
  return number.size() <= 2 ? std::optional(number) : std::nullopt;
}

}  // namespace

void add_metric(MeasuredRun& run, std::string_view name, std::string_view statistic,
                std::optional<double> value, double unit) {
  if (!value || !std::isfinite(*value * unit) || find_metric(run, name, statistic)) return;
  if (run.metrics.size() == kMaxMetrics) {
    throw Error(fmt::format("{}: has over {} figures", run.origin, kMaxMetrics));
  }
  run.metrics.push_back({std::string(name), std::string(statistic), *value * unit});
}

bool is_among(std::span<const ValueKey> keys, std::string_view key) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](const ValueKey& known) { return known.key == key; });
}

void add_values(MeasuredRun& run, const JsonReader& object, std::span<const ValueKey> keys) {
  for (const ValueKey& known : keys) {
    add_metric(run, known.metric, "value", object.number(known.key), known.unit);
  }
}

std::optional<double> find_metric(const MeasuredRun& run, std::string_view name,
                                  std::string_view statistic) {
  for (const MetricRow& metric : run.metrics) {
    if (metric.name == name && metric.statistic == statistic) return metric.value;
  }
  return std::nullopt;
}

Cell latency_cell(const MeasuredRun& run, std::string_view name) {
  if (const auto mean = find_metric(run, name, "mean")) return printed::time(Seconds{*mean});
  const auto median = find_metric(run, name, "p50");
  return median ? followed(printed::time(Seconds{*median}), " (p50)") : "";
}

Cell rate_cell(const MeasuredRun& run, std::string_view name, int decimals) {
  const auto value = find_metric(run, name, "value");
  return value ? printed::fixed(*value, decimals) : "";
}

std::string cell_text(const std::string& text) {
  constexpr std::size_t kLongest = 100;
  return shown(text, kLongest);
}

void add_samples(MeasuredRun& run, std::string_view name, std::vector<double> samples) {
  std::erase_if(samples, [](double sample) { return !std::isfinite(sample); });
  if (samples.empty()) return;
  std::sort(samples.begin(), samples.end());
  const Distribution distribution = distribution_of(samples);
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    add_metric(run, name, statistic.name, distribution.*statistic.value);
  }
}

std::optional<std::string> statistic_of(std::string_view key) {
  struct Word {
    std::string_view key, statistic;
  };
  constexpr std::array<Word, 12> kWords = {{{"mean", "mean"},
                                            {"avg", "mean"},
                                            {"average", "mean"},
                                            {"median", "p50"},
                                            {"std", "std"},
                                            {"std_dev", "std"},
                                            {"stddev", "std"},
                                            {"min", "min"},
                                            {"minimum", "min"},
                                            {"max", "max"},
                                            {"maximum", "max"},
                                            {"p100", "max"}}};
  for (const Word& word : kWords) {
    if (word.key == key) return std::string(word.statistic);
  }
  const auto percent = percentile_in(key);
  return percent ? std::optional("p" + *percent) : std::nullopt;
}

void add_statistics(MeasuredRun& run, std::string_view name, const JsonReader& statistics,
                    double unit) {
  for (const auto& [key, value] : statistics.value().items()) {
    const auto statistic = statistic_of(key);
    if (statistic) add_metric(run, name, *statistic, statistics.number(key), unit);
  }
}

void set_mean_lengths(MeasuredRun& run) {
  const double completed = find_metric(run, "requests_completed", "value").value_or(0);
  if (completed == 0) return;
  const auto set_mean = [&](const char* total, std::optional<double>& mean) {
    const auto tokens = find_metric(run, total, "value");
    if (tokens) mean = *tokens / completed;
  };
  set_mean("input_tokens", run.setting.mean_input_tokens);
  set_mean("output_tokens", run.setting.mean_output_tokens);
}

void add_request_metrics(MeasuredRun& run) {
  for (const StoredLatency& latency : kStoredLatencies) {
    std::vector<double> samples;
    for (const RequestRow& request : run.requests) {
      if (const auto value = latency.of(request)) samples.push_back(*value);
    }
    add_samples(run, latency.name, std::move(samples));
  }
}

}  // namespace roofcast

#include "reports/importers/consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "base/io/json_reader.hpp"
#include "base/io/shown.hpp"
#include "base/numbers.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

// The mean of a product is not the product of the means: if lengths and TPOT vary together,
// consistent figures differ by up to this share.
constexpr double kLatencyTolerance = 0.10;
// Files round to two decimals, and tools start and stop their clocks at slightly different points.
constexpr double kCountTolerance = 0.02;
// Below this share of the requested rate the server did not keep up.
constexpr double kSaturatedShare = 0.95;

bool differ(double a, double b, double tolerance) {
  return std::abs(a - b) > tolerance * std::max(std::abs(a), std::abs(b));
}

std::string as_milliseconds(double seconds) { return as_time(Seconds{seconds}); }

/// The measured mean E2E, or the derived one.
std::optional<double> e2e_of(const MeasuredRun& run) {
  const auto told = find_metric(run, "e2e_s", "mean");
  return told ? told : find_metric(run, "derived_e2e_s", "mean");
}

/// E2E = TTFT + TPOT (n - 1).
void check_latency(MeasuredRun& run) {
  const auto ttft = find_metric(run, "ttft_s", "mean");
  const auto tpot = find_metric(run, "tpot_s", "mean");
  const auto e2e = find_metric(run, "e2e_s", "mean");
  const auto tokens = run.setting.mean_output_tokens;
  if (!ttft || !tpot || !e2e || !tokens || *tokens < 2) return;
  const double sum = *ttft + *tpot * (*tokens - 1);
  if (!differ(sum, *e2e, kLatencyTolerance)) return;
  run.warnings.push_back(fmt::format("mean E2E is {}, but TTFT + TPOT x (n - 1) is {}",
                                     as_milliseconds(*e2e), as_milliseconds(sum)));
}

void check_tokens(MeasuredRun& run) {
  const auto rate = find_metric(run, "output_tokens_per_s", "value");
  const auto duration = find_metric(run, "makespan_s", "value");
  const auto tokens = find_metric(run, "output_tokens", "value");
  if (!rate || !duration || !tokens) return;
  if (!differ(*rate * *duration, *tokens, kCountTolerance)) return;
  run.warnings.push_back(fmt::format("{} output tokens in {} are {}/s, but the file says {}/s",
                                     fixed(*tokens, 0), as_time(Seconds{*duration}),
                                     fixed(*tokens / *duration, 1), fixed(*rate, 1)));
}

/// Little's law: mean requests in flight = throughput x mean time in flight.
void check_concurrency(MeasuredRun& run) {
  const auto e2e = e2e_of(run);
  const auto rate = find_metric(run, "request_rate_per_s", "value");
  const auto limit = run.setting.max_concurrency;
  if (!e2e || !rate || !limit) return;
  const double in_flight = *e2e * *rate;
  if (in_flight <= static_cast<double>(*limit) * (1 + kCountTolerance)) return;
  run.warnings.push_back(fmt::format("{} requests in flight on average, but the limit was {}",
                                     fixed(in_flight, 1), *limit));
}

void check_counts(MeasuredRun& run) {
  const auto completed = find_metric(run, "requests_completed", "value");
  const double failed = find_metric(run, "requests_failed", "value").value_or(0);
  const auto asked = run.setting.requests;
  if (failed > 0) run.warnings.push_back(fmt::format("{} requests failed", fixed(failed, 0)));
  if (!completed || !asked || *completed + failed == static_cast<double>(*asked)) return;
  run.warnings.push_back(fmt::format("{} completed and {} failed of {} requests",
                                     fixed(*completed, 0), fixed(failed, 0), *asked));
}

/// The makespan extends about one E2E beyond the last arrival, so the achieved rate is taken over
/// the makespan without one mean E2E.
void check_rate(MeasuredRun& run) {
  const auto asked = run.setting.request_rate_per_s;
  const auto achieved = find_metric(run, "request_rate_per_s", "value");
  if (!asked || !achieved || !std::isfinite(*asked)) return;
  const double whole = find_metric(run, "makespan_s", "value").value_or(0);
  const double tail = e2e_of(run).value_or(0);
  const double sending = whole > tail ? whole / (whole - tail) : 1;
  if (*achieved * sending >= kSaturatedShare * *asked) return;
  run.warnings.push_back(fmt::format("saturated: {} of {} requests/s were served",
                                     fixed(*achieved, 2), fixed(*asked, 2)));
}

/// Warns of values under a known key that the key cannot take; set_from_key stored them in `other`.
void check_setting(MeasuredRun& run) {
  for (const auto& [key, text] : run.setting.other) {
    if (key == "dtype" || !is_setting_key(key)) continue;
    run.warnings.push_back(
        fmt::format("{} is {}, which is not a number, and is ignored", shown(key), shown(text)));
  }
}

/// The percentile that a statistic stands for: 0 for the minimum, 100 for the maximum.
std::optional<double> percent_of(const std::string& statistic) {
  if (statistic == "min") return 0;
  if (statistic == "max") return 100;
  return statistic.starts_with('p') ? number_in(std::string_view(statistic).substr(1))
                                    : std::nullopt;
}

struct Point {
  double percent, value;
};

void check_order(MeasuredRun& run, const std::string& name) {
  std::vector<Point> points;
  for (const MetricRow& metric : run.metrics) {
    const auto percent = metric.name == name ? percent_of(metric.statistic) : std::nullopt;
    if (percent) points.push_back({*percent, metric.value});
  }
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.percent < b.percent; });
  const auto falls = std::adjacent_find(
      points.begin(), points.end(),
      [](const Point& low, const Point& high) { return low.value > high.value; });
  if (falls == points.end()) return;
  run.warnings.push_back(
      fmt::format("{}: p{:g} is above p{:g}", name, falls->percent, (falls + 1)->percent));
}

}  // namespace

void check_consistency(MeasuredRun& run) {
  constexpr std::array kLatencies = {"ttft_s", "tpot_s", "itl_s", "e2e_s"};
  for (const char* name : kLatencies) {
    check_order(run, name);
    const auto mean = find_metric(run, name, "mean");
    if (mean && *mean < 0) run.warnings.push_back(fmt::format("mean {} is negative", name));
  }
  check_setting(run);
  check_latency(run);
  check_tokens(run);
  check_concurrency(run);
  check_counts(run);
  check_rate(run);
}

}  // namespace roofcast

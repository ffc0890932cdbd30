// Metrics of a measured run: put in under the names of simulated runs, found again, and computed
// from samples where a file keeps those.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/json_reader.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

inline constexpr double kSecondsPerMillisecond = 1e-3;

/// Adds a metric that is there and finite, in `unit`s. What has that name and statistic stays.
void add_metric(MeasuredRun& run, std::string_view name, std::string_view statistic,
                std::optional<double> value, double unit = 1);

/// A key of a result that holds one number, or a distribution, and the metric that it is.
struct ValueKey {
  std::string_view key, metric;
  double unit = 1;
};

/// Whether `key` is one of them.
bool is_among(std::span<const ValueKey> keys, std::string_view key);

/// Adds those that are there, as statistic `value`.
void add_values(MeasuredRun& run, const JsonReader& object, std::span<const ValueKey> keys);

std::optional<double> find_metric(const MeasuredRun& run, std::string_view name,
                                  std::string_view statistic);

/// Mean, p50, p90, p95, p99, min and max of `samples`, those that are not there yet. Percentiles by
/// linear interpolation between order statistics, as numpy has it, with which vLLM, SGLang and
/// genai-perf compute theirs.
void add_samples(MeasuredRun& run, std::string_view name, std::vector<double> samples);

/// The statistic that a key names, in this program's word: "mean", "avg" and "average" are mean;
/// "median", "p50" are p50; "p99.9", "p999", "p99p9" and "P99" are percentiles; "std", "std_dev",
/// "stddev" are std; "min", "minimum", "max", "maximum". Nothing for other keys.
std::optional<std::string> statistic_of(std::string_view key);

/// Every statistic of an object of them ({"mean": 1, "p50": 2, ...}) in `unit`s; other keys do not
/// matter.
void add_statistics(MeasuredRun& run, std::string_view name, const JsonReader& statistics,
                    double unit);

/// `setting`'s mean lengths as totals over completed requests, where the run has both.
void set_mean_lengths(MeasuredRun& run);

/// TTFT, TPOT and E2E of the run's requests, those statistics that are not there yet. TPOT is
/// (last - first token) / (n - 1) and has no value for a request of one token, as in vLLM.
void add_request_metrics(MeasuredRun& run);

}  // namespace roofcast

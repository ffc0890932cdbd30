// Metrics of a measured run: stored under the names of simulated runs, looked up, and computed from
// samples if a file keeps those.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/json_reader.hpp"
#include "reports/cells.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

inline constexpr double kSecondsPerMillisecond = 1e-3;

/// Adds a metric if it has a finite value, converted from `unit`. An existing metric of that name
/// and statistic is kept.
void add_metric(MeasuredRun& run, std::string_view name, std::string_view statistic,
                std::optional<double> value, double unit = 1);

/// A result's key that holds one number or a distribution, and our name for that metric.
struct ValueKey {
  std::string_view key, metric;
  double unit = 1;
};

/// Whether `key` is one of `keys`.
bool is_among(std::span<const ValueKey> keys, std::string_view key);

/// Adds those that are present, as statistic `value`.
void add_values(MeasuredRun& run, const JsonReader& object, std::span<const ValueKey> keys);

std::optional<double> find_metric(const MeasuredRun& run, std::string_view name,
                                  std::string_view statistic);

/// Its mean as a time, or its median ("12.3 ms (p50)") if there is no mean; empty if neither.
Cell latency_cell(const MeasuredRun& run, std::string_view name);
/// The single number with that many decimals; empty if there is none.
Cell rate_cell(const MeasuredRun& run, std::string_view name, int decimals);
/// A file's text for a table or the store: shortened, without terminal control characters.
std::string cell_text(const std::string& text);

/// Adds those of kDistributionStatistics of `samples` that the run does not have yet.
/// Percentiles interpolate linearly between order statistics, as in numpy, which vLLM, SGLang and
/// genai-perf use.
void add_samples(MeasuredRun& run, std::string_view name, std::vector<double> samples);

/// Our name for the statistic of a key: "mean", "avg" and "average" are mean; "median" and "p50"
/// are p50; "p99.9", "p999", "p99p9" and "P99" are percentiles; "std", "std_dev", "stddev" are std;
/// "min", "minimum", "max", "maximum". Returns nullopt for other keys.
std::optional<std::string> statistic_of(std::string_view key);

/// Adds every statistic of an object such as {"mean": 1, "p50": 2, ...}, converted from `unit`;
/// other keys are ignored.
void add_statistics(MeasuredRun& run, std::string_view name, const JsonReader& statistics,
                    double unit);

/// Sets `setting`'s mean lengths to totals over completed requests, if the run has both.
void set_mean_lengths(MeasuredRun& run);

/// Adds those statistics of TTFT, TPOT and E2E over the run's requests that are not there yet. TPOT
/// is (last - first token) / (n - 1), and undefined for a request of one token, as in vLLM.
void add_request_metrics(MeasuredRun& run);

}  // namespace roofcast

// A distribution of times, and the list of its statistics.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace roofcast {

/// Mean and percentiles (linear interpolation between order statistics, numpy's default).
struct Distribution {
  std::int64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, min = 0, max = 0;  // seconds
  bool exact = true;  // false: percentiles from a histogram, within its relative error
};

/// One statistic of a distribution.
struct DistributionStatistic {
  const char* name;                 // "p95"
  double Distribution::*value;      // seconds
  std::optional<double> percent{};  // 0 to 100, if it is a percentile
  bool in_tables = true;            // and in the store; if false, in JSON only
};

/// All statistics, in output order. Tables, JSON, the store, importers and all code that reads a
/// statistic's name use this list: a percentile is added here and as a member above.
inline constexpr auto kDistributionStatistics = std::to_array<DistributionStatistic>({
    {"mean", &Distribution::mean},
    {"p50", &Distribution::p50, 50},
    {"p90", &Distribution::p90, 90},
    {"p95", &Distribution::p95, 95},
    {"p99", &Distribution::p99, 99},
    {"min", &Distribution::min, {}, false},
    {"max", &Distribution::max},
});

/// Returns the statistic shown in tables under that name, or nullptr.
constexpr const DistributionStatistic* table_statistic(std::string_view name) {
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (statistic.in_tables && statistic.name == name) return &statistic;
  }
  return nullptr;
}

/// Whether it is the mean or a percentile.
constexpr bool is_mean_or_percentile(const DistributionStatistic& statistic) {
  return statistic.percent || statistic.value == &Distribution::mean;
}

/// All statistics of samples, which are sorted and finite. Precondition: not empty.
Distribution distribution_of(std::span<const double> ascending);

}  // namespace roofcast

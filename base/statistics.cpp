#include "base/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

namespace roofcast {

namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  return ascending;
}

}  // namespace

double quantile(std::span<const double> ascending, double q) {
  assert(!ascending.empty() && q >= 0 && q <= 1);
  const double rank = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  const double share = rank - static_cast<double>(below);
  return ascending[below] + share * (ascending[above] - ascending[below]);
}

double median(std::span<const double> values) { return quantile(sorted(values), 0.5); }

double relative_deviation(std::span<const double> values) {
  assert(!values.empty());
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() == 1) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1)) / mean;
}

Statistics summarise(std::span<const double> values) {
  const std::vector<double> ascending = sorted(values);
  Statistics result{.count = values.size(),
                    .min = ascending.front(),
                    .p10 = quantile(ascending, 0.10),
                    .lower_quartile = quantile(ascending, 0.25),
                    .median = quantile(ascending, 0.50),
                    .upper_quartile = quantile(ascending, 0.75),
                    .p90 = quantile(ascending, 0.90),
                    .relative_deviation = relative_deviation(values)};
  result.bimodal = result.p90 > kBimodalRatio * result.p10;
  return result;
}

}  // namespace roofcast

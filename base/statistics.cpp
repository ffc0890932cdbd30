#include "base/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace roofcast {

QuantileRank quantile_rank(double q, std::int64_t count) {
  assert(q >= 0 && q <= 1 && count > 0);
  const double rank = q * static_cast<double>(count - 1);
  const auto below = static_cast<std::int64_t>(rank);
  const double share = rank - static_cast<double>(below);
  return {.below = below, .above = share > 0 ? below + 1 : below, .share = share};
}

double quantile(std::span<const double> ascending, double q) {
  const QuantileRank rank = quantile_rank(q, std::ssize(ascending));
  return rank.between(ascending[static_cast<std::size_t>(rank.below)],
                      ascending[static_cast<std::size_t>(rank.above)]);
}

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  return ascending;
}

double median(std::span<const double> values) { return quantile(sorted(values), 0.5); }

double mean(std::span<const double> values) {
  assert(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double relative_deviation(std::span<const double> values) {
  const double middle = mean(values);
  if (values.size() == 1) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1)) / middle;
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

ErrorSizes sizes_of(std::span<const double> errors) {
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  ErrorSizes result{.mean = mean(sizes)};
  std::sort(sizes.begin(), sizes.end());
  result.median = quantile(sizes, 0.5);
  result.p90 = quantile(sizes, 0.9);
  return result;
}

}  // namespace roofcast

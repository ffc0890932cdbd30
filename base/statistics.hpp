// Quantiles, means and spreads, with one definition each for the whole program. Pure: no clock, no
// device.
//
// A quantile interpolates linearly between ranks, at rank q * (n - 1): definition 7 of Hyndman and
// Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50:4 (1996). This is
// R's type 7 and the default of numpy.percentile, so figures compare with those of benchmark tools
// written in Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace roofcast {

/// Where a quantile lies among ascending values: `share` of the way from the value of rank `below`
/// to that of rank `above`. The two ranks are equal if the share is 0.
struct QuantileRank {
  std::int64_t below = 0;
  std::int64_t above = 0;
  double share = 0;

  double between(double low, double high) const { return low + (high - low) * share; }
};

/// Precondition: 0 <= q <= 1, count > 0.
QuantileRank quantile_rank(double q, std::int64_t count);

/// Precondition: `ascending` is sorted and not empty, 0 <= q <= 1.
double quantile(std::span<const double> ascending, double q);

/// The same for a percentage, 0 to 100.
inline double percentile(std::span<const double> ascending, double percent) {
  return quantile(ascending, percent / 100);
}

std::vector<double> sorted(std::span<const double> values);

/// Precondition of both: not empty.
double median(std::span<const double> values);
double mean(std::span<const double> values);

/// Sizes of errors: of their absolute values.
struct ErrorSizes {
  double mean = 0;
  double median = 0;
  double p90 = 0;
};

/// Precondition: not empty.
ErrorSizes sizes_of(std::span<const double> errors);

/// The 0.9 quantile of the standard normal distribution (NIST/SEMATECH e-Handbook of Statistical
/// Methods, 1.3.6.7.1): the middle kIntervalShare of its values lies within this many standard
/// deviations of the mean.
inline constexpr double kIntervalShare = 0.8;
inline constexpr double kIntervalDeviations = 1.2816;

/// Standard deviation (n - 1) divided by the mean; 0 for a single value. Precondition: not empty,
/// mean above 0.
double relative_deviation(std::span<const double> values);

/// Above this ratio of p90 to p10 a timing has more than one mode: changed clocks, another program,
/// an algorithm switch. Steady kernels stay below 1.05.
inline constexpr double kBimodalRatio = 1.15;

/// A set of timings.
struct Statistics {
  std::size_t count = 0;
  double min = 0;
  double p10 = 0;
  double lower_quartile = 0;
  double median = 0;
  double upper_quartile = 0;
  double p90 = 0;
  double relative_deviation = 0;
  bool bimodal = false;

  /// (p90 - p10) / 2 divided by the median.
  double relative_spread() const { return median > 0 ? (p90 - p10) / 2 / median : 0; }
};

/// Precondition: not empty, all above 0.
Statistics summarise(std::span<const double> values);

}  // namespace roofcast

// What a set of timings comes down to. Pure: no clock, no device.
#pragma once

#include <cstddef>
#include <span>

namespace roofcast {

/// The value that a share of the values does not exceed, linear between neighbours in rank: rank
/// q * (n - 1), as in R's type 7 (Hyndman and Fan, The American Statistician 50, 1996).
/// Precondition: `ascending` is sorted and not empty, 0 <= q <= 1.
double quantile(std::span<const double> ascending, double q);

/// Precondition: not empty.
double median(std::span<const double> values);

/// Standard deviation (n - 1) over the mean; 0 for a single value. Precondition: not empty, the
/// mean is above 0.
double relative_deviation(std::span<const double> values);

/// Above this ratio of p90 to p10 a timing has more than one mode: clocks that changed, another
/// program, an algorithm that switches. Steady kernels stay below 1.05.
inline constexpr double kBimodalRatio = 1.15;

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

  /// (p90 - p10) / 2 over the median.
  double relative_spread() const { return median > 0 ? (p90 - p10) / 2 / median : 0; }
};

/// Precondition: not empty, all above 0.
Statistics summarise(std::span<const double> values);

}  // namespace roofcast

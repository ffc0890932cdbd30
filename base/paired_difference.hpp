// The effect of a change on a figure, from runs that differ only in that change. Each pair shares a
// seed, so arrivals and lengths are the same on both sides and their randomness cancels (common
// random numbers; Law, Simulation Modeling and Analysis, 5th ed., 11.2). Where runs cannot be
// repeated with other seeds, the same from one run per side, by blocks of requests.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace roofcast {

/// The least change, relative to the baseline, that counts: less is 0.0 % in tables. However sure
/// its sign, a change this small is within what a model leaves out.
inline constexpr double kLeastChange = 0.0005;

/// The other side minus the baseline, with a 95 % interval.
struct Difference {
  double mean = 0;
  std::optional<double> low{};   // absent: too few samples
  std::optional<double> high{};  // present when `low` is
  std::int64_t samples = 0;      // pairs, or blocks

  /// Whether the interval excludes zero.
  bool significant() const { return low && (*low > 0 || *high < 0); }
  /// Whether, besides, it is at least kLeastChange of `baseline`; of a baseline of zero anything
  /// is.
  bool significant_beside(double baseline) const {
    return significant() && std::abs(mean) >= kLeastChange * std::abs(baseline);
  }
};

/// The quantile of Student's t for a two-sided interval that contains `share` of its values.
/// Preconditions: degrees_of_freedom > 0, 0 < share < 1.
double student_t(std::int64_t degrees_of_freedom, double share);

/// Mean of the pairs' differences, with Student's interval, which assumes that they are independent
/// and normal. No interval for fewer than two pairs. The spans have one element per pair and the
/// same size.
Difference paired_difference(std::span<const double> baseline, std::span<const double> other);

/// A figure of a run's requests: their mean or a percentile (base/statistics.hpp).
struct RequestStatistic {
  std::optional<double> percent{};  // 0 < percent < 100; unset: the mean
};

/// The statistic named "mean" or "p95"; nullopt for others: pooled gaps, rates, maxima.
std::optional<RequestStatistic> request_statistic(std::string_view name);

/// Values of requests in order of arrival; nullopt for a request without one (not finished).
using RequestValues = std::vector<std::optional<double>>;

/// Requests are divided into this many blocks of neighbours. Schmeiser 1982 (Operations Research
/// 30:3) advises 10 to 30 for batch means.
inline constexpr std::int64_t kBlocks = 20;

/// The figure of `values`; nullopt if there are none.
std::optional<double> statistic_of(const RequestValues& values, const RequestStatistic& statistic);

/// Interval by the delete-a-block jackknife (Kuensch 1989, Annals of Statistics 17:3; for
/// percentiles Shao and Wu 1989, same volume, whose condition that blocks outgrow the square root
/// of the number of requests holds above 400): each block of neighbours is left out in turn, and
/// the spread of the results gives the standard error. Queueing correlates neighbours, and blocks
/// preserve that; the blocks themselves are assumed independent, with Student's t of kBlocks - 1
/// degrees of freedom. `paired`: element i is the same request on both sides (equal sizes) and is
/// left out of both at once; otherwise the squared errors of both sides add. No interval if fewer
/// than one request per block lies beyond the percentile. Returns nullopt if a side has no values.
std::optional<Difference> block_difference(const RequestValues& baseline,
                                           const RequestValues& other,
                                           const RequestStatistic& statistic, bool paired);

}  // namespace roofcast

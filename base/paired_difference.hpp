// What a change does to a figure, from runs that differ in the change alone: every pair shares a
// seed, so arrivals and lengths are the same on both sides and their chance cancels (common random
// numbers; Law, Simulation Modeling and Analysis, 5th ed., 11.2). And the same from one run each,
// by blocks of requests, where there are no seeds to repeat with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace roofcast {

/// The other side less the baseline, with a 95 % interval.
struct Difference {
  double mean = 0;
  std::optional<double> low{};   // absent: too little to tell
  std::optional<double> high{};  // present when `low` is
  std::int64_t samples = 0;      // pairs, or blocks

  /// The interval leaves out zero.
  bool significant() const { return low && (*low > 0 || *high < 0); }
};

/// The quantile of Student's t that a two-sided interval of 95 % takes. Precondition: degrees > 0.
double student_t_95(std::int64_t degrees_of_freedom);

/// Mean of the pairs' differences and Student's interval, which takes them as independent and
/// normal; none of fewer than two pairs. The spans are of one size, one element a pair.
Difference paired_difference(std::span<const double> baseline, std::span<const double> other);

/// A figure of a run's requests: their mean, or a percentile (base/statistics.hpp).
struct RequestStatistic {
  std::optional<double> percent{};  // 0 < percent < 100; unset: the mean
};

/// Values of requests in order of arrival; nothing for a request that has none (not finished).
using RequestValues = std::vector<std::optional<double>>;

/// Requests are divided into so many blocks of neighbours: between 10 and 30, as Schmeiser 1982
/// (Operations Research 30:3) advises for batch means.
inline constexpr std::int64_t kBlocks = 20;

/// The figure of those values; nothing of none.
std::optional<double> statistic_of(const RequestValues& values, const RequestStatistic& statistic);

/// Interval by the delete-a-block jackknife (Kuensch 1989, Annals of Statistics 17:3; of
/// percentiles Shao and Wu 1989, same volume, whose condition that blocks outgrow the square root
/// of the requests holds above 400): each block of neighbours in turn is left out, and the spread
/// of the answers is the standard error. Queueing makes neighbours alike, and blocks keep that;
/// blocks themselves are taken as independent, with Student's t of kBlocks - 1 degrees. `paired`:
/// element i is the same request on both sides (equal sizes), and is left out of both at once;
/// otherwise the errors of both sides add in squares. No interval when fewer than one request a
/// block lies beyond the percentile. Nothing when a side has no values.
std::optional<Difference> block_difference(const RequestValues& baseline,
                                           const RequestValues& other,
                                           const RequestStatistic& statistic, bool paired);

}  // namespace roofcast

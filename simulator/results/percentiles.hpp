// Exact percentiles in two passes: the first counts durations in a histogram and so finds the bins
// that contain the percentiles; the second collects and sorts the values in those bins. If there
// are too many values, or a second pass is impossible, the histogram alone gives the percentiles.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/statistics.hpp"
#include "simulator/results/duration_histogram.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

class Percentiles {
 public:
  enum class Source { values, histogram };

  /// Limit for exact percentiles: 16 bytes per value if all fall into the collected bins.
  static Source source_for(std::int64_t count) {
    return count <= kMaxExact ? Source::values : Source::histogram;
  }
  static constexpr std::int64_t kMaxExact = 1'000'000;

  /// `percents` (0 to 100) of the `counted` values and `missing` more that are larger than all of
  /// them. With Source::values, all values must be passed to look_at() if needs_second_look().
  Percentiles(DurationHistogram counted, const std::vector<double>& percents, std::int64_t missing,
              Source source);

  bool needs_second_look() const { return !wanted_.empty(); }
  void look_at(Nanoseconds value, std::int64_t count = 1) {
    const DurationHistogram::Bin bin = DurationHistogram::bin_of(value);
    if (wanted_[static_cast<std::size_t>(bin)] != 0) keep(value, count);
  }
  /// Call after the last value.
  void finish();

  std::int64_t count() const { return counted_.count(); }
  bool exact() const { return exact_; }
  const DurationHistogram& counted() const { return counted_; }

  /// In seconds, by linear interpolation between order statistics, as numpy does by default: of n
  /// values, the one at position percent / 100 * (n - 1), counted from 0. Returns nullopt if it
  /// falls among the missing ones. Preconditions: finished, not empty, `percent` is one of those
  /// requested.
  std::optional<double> percentile(double percent) const;

 private:
  /// Equal values of one bin that were added consecutively.
  struct Run {
    Nanoseconds value = 0;
    std::int64_t count = 0;
  };

  QuantileRank rank_of(double percent) const;
  Nanoseconds value_at(std::int64_t rank) const;
  void keep(Nanoseconds value, std::int64_t count) {
    if (!kept_.empty() && kept_.back().value == value) {
      kept_.back().count += count;
    } else {
      kept_.push_back({value, count});
    }
  }

  DurationHistogram counted_;
  std::int64_t missing_ = 0;
  bool exact_ = false;
  std::vector<std::uint8_t> wanted_;  // by bin of `counted_`; empty if no bin is wanted
  std::vector<Run> kept_;             // values in wanted bins; ascending once finished
};

/// The percentiles in a Distribution.
std::vector<double> distribution_percents();

/// Precondition: constructed with distribution_percents() and no missing values, and finished.
Distribution distribution_of(const Percentiles& percentiles);

}  // namespace roofcast

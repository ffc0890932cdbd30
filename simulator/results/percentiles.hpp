// Percentiles of durations that are looked at twice: counted in a histogram first, which tells the
// bins where the percentiles fall; the values in those bins are then collected and sorted, which
// makes the percentiles exact. Where there are too many values, or no second look is possible, the
// histogram answers alone.
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

  /// Of so many values, at 16 bytes each when all fall into the bins that are collected.
  static Source source_for(std::int64_t count) {
    return count <= kMaxExact ? Source::values : Source::histogram;
  }
  static constexpr std::int64_t kMaxExact = 1'000'000;

  /// The given percentiles (0 to 100) of `counted` values and of `missing` more that are larger
  /// than all of these. With Source::values, all values have to be shown to look_at() when
  /// needs_second_look().
  Percentiles(DurationHistogram counted, const std::vector<double>& percents, std::int64_t missing,
              Source source);

  bool needs_second_look() const { return !wanted_.empty(); }
  void look_at(Nanoseconds value, std::int64_t count = 1) {
    const DurationHistogram::Bin bin = DurationHistogram::bin_of(value);
    if (wanted_[static_cast<std::size_t>(bin - counted_.begin())] != 0) keep(value, count);
  }
  /// After the last value.
  void finish();

  std::int64_t count() const { return counted_.count(); }
  bool exact() const { return exact_; }
  const DurationHistogram& counted() const { return counted_; }

  /// In seconds, by linear interpolation between order statistics, numpy's default: of n values,
  /// the one at position percent / 100 * (n - 1), counted from 0. Nothing when it falls among the
  /// missing ones. Preconditions: finished, not empty, one of the percents asked for.
  std::optional<double> percentile(double percent) const;

 private:
  /// Values of one bin that are equal and came one after the other.
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
  std::vector<std::uint8_t> wanted_;  // bins of `counted_`; empty when none is
  std::vector<Run> kept_;             // values of wanted bins; ascending once finished
};

/// The percentiles that every Distribution has.
std::vector<double> distribution_percents();

/// Precondition: made with distribution_percents() and none missing, and finished.
Distribution distribution_of(const Percentiles& percentiles);

}  // namespace roofcast

// Sorted values with counts: percentiles, shares and means, exact.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/results/result.hpp"
#include "simulator/results/token_gaps.hpp"

namespace roofcast {

class Sample {
 public:
  explicit Sample(const std::vector<double>& values);
  /// In seconds.
  explicit Sample(const std::vector<GapCount>& gaps);

  std::int64_t count() const { return cumulative_.empty() ? 0 : cumulative_.back(); }
  double mean() const { return mean_; }
  double min() const { return values_.front(); }
  double max() const { return values_.back(); }

  /// Linear interpolation between order statistics, numpy's default: of n values, the one at
  /// position percentile / 100 * (n - 1), counted from 0. Precondition: not empty.
  double percentile(double percentile) const;

  /// The same when `missing` further values are larger than all here; nothing when the percentile
  /// falls among them.
  std::optional<double> percentile(double percentile, std::int64_t missing) const;

  std::int64_t count_within(double limit) const;

 private:
  double order_statistic(std::int64_t position) const;

  std::vector<double> values_;            // ascending, distinct or not
  std::vector<std::int64_t> cumulative_;  // values up to and including each
  double mean_ = 0;
};

Distribution distribution_of(const Sample& sample);

}  // namespace roofcast

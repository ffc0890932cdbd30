#include "simulator/results/steady_state.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "base/paired_difference.hpp"
#include "base/statistics.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMserBatch = 5;
constexpr std::int64_t kMinPerBatch = 5;
constexpr double kMinBeyond = 10;  // values of a batch beyond its percentile

// Critical value of Dickey and Fuller's t with a constant, a trend and 100 values, at 1 % (Fuller
// 1976, "Introduction to Statistical Time Series", table 8.5.2). With a constant alone, as here, it
// is -3.51: the stricter value is for the several lengths at which one load is looked at.
constexpr double kUnitRoot = -4.04;

double batch_t() {
  static const double t = student_t(kBatches - 1, kVerdictConfidence);
  return t;
}

double variance_of(std::span<const double> values) {
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return squares / static_cast<double>(values.size() - 1);
}

/// Correlation of neighbours in the series; 0 if all values are equal.
double lag_one_correlation(std::span<const double> values) {
  const double middle = mean(values);
  double squares = 0;
  double products = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - middle) * (values[i] - middle);
    if (i > 0) products += (values[i] - middle) * (values[i - 1] - middle);
  }
  return squares > 0 ? products / squares : 0;
}

/// Interval of the mean of batch statistics.
ConfidenceInterval interval_of(std::span<const double> batches) {
  constexpr double kMaxCorrelation = 0.9;
  const double r = std::clamp(lag_one_correlation(batches), 0.0, kMaxCorrelation);
  const double variance = variance_of(batches) * (1 + r) / (1 - r);
  const double half = batch_t() * std::sqrt(variance / static_cast<double>(batches.size()));
  const double middle = mean(batches);
  return {middle - half, middle + half};
}

/// The part of `values` in a batch, of nearly equal sizes.
template <class Value>
std::span<const Value> batch_of(std::span<const Value> values, std::int64_t batch) {
  const auto count = std::ssize(values);
  const auto begin = static_cast<std::size_t>(batch * count / kBatches);
  const auto end = static_cast<std::size_t>((batch + 1) * count / kBatches);
  return values.subspan(begin, end - begin);
}

/// t of the slope b in x[i + 1] - x[i] = a + b x[i] + error; far below 0 if the series returns to
/// its mean.
double unit_root_t(std::span<const double> levels) {
  const std::span<const double> before = levels.first(levels.size() - 1);
  const auto count = static_cast<double>(before.size());
  const double mean_level = mean(before);
  const double mean_step = (levels.back() - levels.front()) / count;
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double x = before[i] - mean_level;
    const double y = levels[i + 1] - levels[i] - mean_step;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx <= 0) return -std::numeric_limits<double>::infinity();  // the level never moves
  const double slope = xy / xx;
  const double residual = std::max(0.0, yy - slope * xy) / (count - 2);
  if (residual <= 0) return slope < 0 ? -std::numeric_limits<double>::infinity() : 0;
  return slope / std::sqrt(residual / xx);
}

/// Variance of the mean of `count` neighbours in a stationary series.
double mean_variance(std::span<const double> values, std::size_t count) {
  const double r = std::max(0.0, lag_one_correlation(values));
  const double independent = static_cast<double>(count) * (1 - r) / (1 + r);
  return variance_of(values) / std::max(1.0, independent);
}

}  // namespace

std::size_t warm_up_of(std::span<const double> values) {
  const std::size_t batches = values.size() / kMserBatch;
  if (batches < 2) return 0;
  // From the end, so that sums over what is left need one pass (Welford).
  double mean_left = 0;
  double squares = 0;
  double least = std::numeric_limits<double>::infinity();
  std::size_t truncated = 0;
  for (std::size_t left = 1; left <= batches; ++left) {
    const std::size_t first = batches - left;
    const double one = mean(values.subspan(first * kMserBatch, kMserBatch));
    const double step = one - mean_left;
    const auto count = static_cast<double>(left);
    mean_left += step / count;
    squares += step * (one - mean_left);
    if (first > batches / 2) continue;
    const double statistic = squares / (count * count);
    // On a tie, the shortest truncation.
    if (statistic <= least) {
      least = statistic;
      truncated = first;
    }
  }
  return truncated * kMserBatch;
}

std::optional<ConfidenceInterval> share_interval(std::span<const std::uint8_t> values) {
  if (std::ssize(values) < kMinPerBatch * kBatches) return std::nullopt;
  std::vector<double> shares;
  for (std::int64_t i = 0; i < kBatches; ++i) {
    const auto batch = batch_of(values, i);
    const auto within = std::count(batch.begin(), batch.end(), 1);
    shares.push_back(static_cast<double>(within) / static_cast<double>(batch.size()));
  }
  ConfidenceInterval interval = interval_of(shares);
  // With p^n = (1 - confidence) / 2, n equal values are plausible for shares down to p.
  const double chance =
      std::pow((1 - kVerdictConfidence) / 2, 1 / static_cast<double>(values.size()));
  const auto all = std::count(values.begin(), values.end(), 1);
  if (all == std::ssize(values)) interval.low = chance;
  if (all == 0) interval.high = 1 - chance;
  return ConfidenceInterval{std::max(0.0, interval.low), std::min(1.0, interval.high)};
}

std::optional<ConfidenceInterval> percentile_interval(std::span<const double> values,
                                                      double percent) {
  const double per_batch = static_cast<double>(values.size()) / static_cast<double>(kBatches);
  if (per_batch * std::min(percent, 100 - percent) / 100 < kMinBeyond) return std::nullopt;
  std::vector<double> batches;
  for (std::int64_t i = 0; i < kBatches; ++i) {
    batches.push_back(percentile(sorted(batch_of(values, i)), percent));
  }
  return interval_of(batches);
}

BacklogGrowth backlog_growth(std::span<const double> levels, double arrived) {
  assert(levels.size() == kLevelSteps + 1 && arrived > 0);
  BacklogGrowth growth{.settles = unit_root_t(levels) < kUnitRoot};
  double grown = 0;
  double error = 0;
  if (growth.settles) {
    constexpr std::size_t kThird = (kLevelSteps + 1) / 3;
    constexpr double kApart = static_cast<double>(kLevelSteps + 1 - kThird) / kLevelSteps;
    grown = (mean(levels.last(kThird)) - mean(levels.first(kThird))) / kApart;
    error = batch_t() * std::sqrt(2 * mean_variance(levels, kThird)) / kApart;
  } else {
    constexpr std::size_t kStride = kLevelSteps / kBatches;
    std::vector<double> increments;
    for (std::size_t i = kStride; i < levels.size(); i += kStride) {
      increments.push_back(levels[i] - levels[i - kStride]);
    }
    grown = levels.back() - levels.front();
    error = batch_t() * std::sqrt(variance_of(increments) * static_cast<double>(kBatches));
  }
  growth.share = grown / arrived;
  growth.interval = {(grown - error) / arrived, (grown + error) / arrived};
  return growth;
}

}  // namespace roofcast

#include "simulator/results/sample.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace roofcast {

Sample::Sample(const std::vector<double>& values) : values_(values) {
  std::sort(values_.begin(), values_.end());
  cumulative_.reserve(values_.size());
  double sum = 0;
  for (double value : values_) {
    sum += value;
    cumulative_.push_back(static_cast<std::int64_t>(cumulative_.size()) + 1);
  }
  if (!values_.empty()) mean_ = sum / static_cast<double>(values_.size());
}

Sample::Sample(const std::vector<GapCount>& gaps) {
  std::vector<GapCount> sorted = gaps;
  std::sort(sorted.begin(), sorted.end(),
            [](const GapCount& a, const GapCount& b) { return a.gap < b.gap; });
  values_.reserve(sorted.size());
  cumulative_.reserve(sorted.size());
  std::int64_t count_so_far = 0;
  double sum = 0;
  for (const GapCount& entry : sorted) {
    const double seconds = to_seconds(entry.gap).value;
    count_so_far += entry.count;
    sum += seconds * static_cast<double>(entry.count);
    values_.push_back(seconds);
    cumulative_.push_back(count_so_far);
  }
  if (count_so_far > 0) mean_ = sum / static_cast<double>(count_so_far);
}

double Sample::order_statistic(std::int64_t position) const {
  const auto entry = std::upper_bound(cumulative_.begin(), cumulative_.end(), position);
  return values_[static_cast<std::size_t>(entry - cumulative_.begin())];
}

double Sample::percentile(double percent) const { return *percentile(percent, 0); }

std::optional<double> Sample::percentile(double percent, std::int64_t missing) const {
  assert(percent >= 0 && percent <= 100);
  const std::int64_t n = count() + missing;
  const double position = percent / 100.0 * static_cast<double>(n - 1);
  const auto below = static_cast<std::int64_t>(std::floor(position));
  const double fraction = position - static_cast<double>(below);
  const std::int64_t above = fraction > 0 ? below + 1 : below;
  if (above >= count()) return std::nullopt;
  const double low = order_statistic(below);
  return low + (order_statistic(above) - low) * fraction;
}

std::int64_t Sample::count_within(double limit) const {
  const auto above = std::upper_bound(values_.begin(), values_.end(), limit);
  if (above == values_.begin()) return 0;
  return cumulative_[static_cast<std::size_t>(above - values_.begin()) - 1];
}

Distribution distribution_of(const Sample& sample) {
  if (sample.count() == 0) return {};
  return {.count = sample.count(),
          .mean = sample.mean(),
          .p50 = sample.percentile(50),
          .p90 = sample.percentile(90),
          .p95 = sample.percentile(95),
          .p99 = sample.percentile(99),
          .min = sample.min(),
          .max = sample.max()};
}

}  // namespace roofcast

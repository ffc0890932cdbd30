#include "simulator/results/percentiles.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace roofcast {

Percentiles::Percentiles(DurationHistogram counted, const std::vector<double>& percents,
                         std::int64_t missing, Source source)
    : counted_(std::move(counted)), missing_(missing), exact_(source == Source::values) {
  if (!exact_ || count() == 0 || percents.empty()) return;
  wanted_.resize(static_cast<std::size_t>(counted_.bins_kept()));
  for (const double percent : percents) {
    const Position position = position_of(percent);
    for (const std::int64_t rank : {position.below, position.above}) {
      if (rank >= count()) continue;
      wanted_[static_cast<std::size_t>(counted_.place_of(rank).bin - counted_.begin())] = 1;
    }
  }
}

void Percentiles::finish() {
  std::sort(kept_.begin(), kept_.end(),
            [](const Run& a, const Run& b) { return a.value < b.value; });
}

Percentiles::Position Percentiles::position_of(double percent) const {
  assert(percent >= 0 && percent <= 100);
  const double position = percent / 100.0 * static_cast<double>(count() + missing_ - 1);
  const auto below = static_cast<std::int64_t>(std::floor(position));
  const double fraction = position - static_cast<double>(below);
  return {.below = below, .above = fraction > 0 ? below + 1 : below, .fraction = fraction};
}

Nanoseconds Percentiles::value_at(std::int64_t rank) const {
  if (!exact_) return counted_.value_at(rank);
  const DurationHistogram::Place place = counted_.place_of(rank);
  auto run = std::lower_bound(kept_.begin(), kept_.end(), place.bin,
                              [](const Run& r, DurationHistogram::Bin bin) {
                                return DurationHistogram::bin_of(r.value) < bin;
                              });
  assert(run != kept_.end());
  // Bins are in the order of their values, so the rank is counted from the bin's first value.
  for (std::int64_t left = rank - place.before; left >= run->count; ++run) left -= run->count;
  return run->value;
}

std::optional<double> Percentiles::percentile(double percent) const {
  const Position position = position_of(percent);
  if (position.above >= count()) return std::nullopt;
  const double low = to_seconds(value_at(position.below)).value;
  const double high = to_seconds(value_at(position.above)).value;
  return low + (high - low) * position.fraction;
}

std::vector<double> distribution_percents() {
  std::vector<double> percents;
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (statistic.percent) percents.push_back(*statistic.percent);
  }
  return percents;
}

Distribution distribution_of(const Percentiles& percentiles) {
  if (percentiles.count() == 0) return {};
  const DurationHistogram& counted = percentiles.counted();
  Distribution distribution{.count = percentiles.count(),
                            .mean = counted.mean_s(),
                            .min = to_seconds(counted.min()).value,
                            .max = to_seconds(counted.max()).value,
                            .exact = percentiles.exact()};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (statistic.percent) {
      distribution.*statistic.value = *percentiles.percentile(*statistic.percent);
    }
  }
  return distribution;
}

}  // namespace roofcast

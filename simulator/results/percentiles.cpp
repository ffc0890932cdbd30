#include "simulator/results/percentiles.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace roofcast {

Percentiles::Percentiles(DurationHistogram counted, const std::vector<double>& percents,
                         std::int64_t missing, Source source)
    : counted_(std::move(counted)), missing_(missing), exact_(source == Source::values) {
  if (!exact_ || count() == 0 || percents.empty()) return;
  wanted_.resize(static_cast<std::size_t>(counted_.end()));
  for (const double percent : percents) {
    const QuantileRank place = rank_of(percent);
    for (const std::int64_t rank : {place.below, place.above}) {
      if (rank >= count()) continue;
      wanted_[static_cast<std::size_t>(counted_.place_of(rank).bin)] = 1;
    }
  }
}

void Percentiles::finish() {
  std::sort(kept_.begin(), kept_.end(),
            [](const Run& a, const Run& b) { return a.value < b.value; });
}

QuantileRank Percentiles::rank_of(double percent) const {
  return quantile_rank(percent / 100, count() + missing_);
}

Nanoseconds Percentiles::value_at(std::int64_t rank) const {
  if (!exact_) return counted_.value_at(rank);
  const DurationHistogram::Place place = counted_.place_of(rank);
  auto run = std::lower_bound(kept_.begin(), kept_.end(), place.bin,
                              [](const Run& r, DurationHistogram::Bin bin) {
                                return DurationHistogram::bin_of(r.value) < bin;
                              });
  assert(run != kept_.end());
  // Bins are ordered by value, so the rank is counted from the bin's first value.
  for (std::int64_t left = rank - place.before; left >= run->count; ++run) left -= run->count;
  return run->value;
}

std::optional<double> Percentiles::percentile(double percent) const {
  if (count() == 0) return std::nullopt;
  const QuantileRank rank = rank_of(percent);
  if (rank.above >= count()) return std::nullopt;
  return rank.between(to_seconds(value_at(rank.below)).value,
                      to_seconds(value_at(rank.above)).value);
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

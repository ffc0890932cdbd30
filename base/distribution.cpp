#include "base/distribution.hpp"

#include <iterator>

#include "base/statistics.hpp"

namespace roofcast {

Distribution distribution_of(std::span<const double> ascending) {
  Distribution result{.count = std::ssize(ascending),
                      .mean = mean(ascending),
                      .min = ascending.front(),
                      .max = ascending.back()};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (statistic.percent) result.*statistic.value = percentile(ascending, *statistic.percent);
  }
  return result;
}

}  // namespace roofcast

#include "base/paired_difference.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "base/quantity.hpp"
#include "base/statistics.hpp"

namespace roofcast {
namespace {

constexpr double kShare = 0.95;  // of the values, that the interval is to contain

/// 95 % intervals leave out half of the rest on either side.
void set_interval(Difference& difference, double standard_error, std::int64_t degrees) {
  const double half = student_t(degrees, kShare) * standard_error;
  difference.low = difference.mean - half;
  difference.high = difference.mean + half;
}

// ---- the requests of one run, with any block left out

constexpr std::int64_t kNoBlock = -1;

struct Placed {
  double value = 0;
  std::int64_t block = 0;
};

/// Values in ascending order, each with the block of its request.
std::vector<Placed> placed(const RequestValues& values) {
  std::vector<Placed> result;
  const std::int64_t count = std::ssize(values);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::optional<double>& value = values[static_cast<std::size_t>(i)];
    if (value) result.push_back({*value, i * kBlocks / count});
  }
  std::sort(result.begin(), result.end(),
            [](const Placed& a, const Placed& b) { return a.value < b.value; });
  return result;
}

std::int64_t count_without(const std::vector<Placed>& values, std::int64_t block) {
  return std::count_if(values.begin(), values.end(),
                       [block](const Placed& one) { return one.block != block; });
}

double mean_without(const std::vector<Placed>& values, std::int64_t block, std::int64_t count) {
  double sum = 0;
  for (const Placed& one : values) {
    if (one.block != block) sum += one.value;
  }
  return sum / static_cast<double>(count);
}

double percentile_without(const std::vector<Placed>& values, std::int64_t block, std::int64_t count,
                          double percent) {
  const QuantileRank wanted = quantile_rank(percent / 100, count);
  std::int64_t rank = 0;
  double value_below = 0;
  for (const Placed& one : values) {
    if (one.block == block) continue;
    if (rank == wanted.below) value_below = one.value;
    if (rank == wanted.above) return wanted.between(value_below, one.value);
    ++rank;
  }
  return value_below;
}

/// Returns nullopt if no value is left.
std::optional<double> figure_without(const std::vector<Placed>& values, std::int64_t block,
                                     const RequestStatistic& statistic) {
  const std::int64_t count = count_without(values, block);
  if (count == 0) return std::nullopt;
  return statistic.percent ? percentile_without(values, block, count, *statistic.percent)
                           : mean_without(values, block, count);
}

/// The figure with each block left out in turn; nullopt if one of them cannot be computed.
std::optional<std::vector<double>> replicates_of(const std::vector<Placed>& values,
                                                 const RequestStatistic& statistic) {
  std::vector<double> figures;
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    const auto figure = figure_without(values, block, statistic);
    if (!figure) return std::nullopt;
    figures.push_back(*figure);
  }
  return figures;
}

/// Jackknife variance of a figure with these replicates.
double jackknife_variance(const std::vector<double>& replicates) {
  const auto blocks = static_cast<double>(replicates.size());
  const double middle = mean(replicates);
  double squares = 0;
  for (const double figure : replicates) squares += (figure - middle) * (figure - middle);
  return (blocks - 1) / blocks * squares;
}

/// Whether the values suffice for an interval: on average one request per block beyond the
/// percentile, or one per block for the mean.
bool tells_spread(std::size_t count, const RequestStatistic& statistic) {
  const double share =
      statistic.percent ? std::min(*statistic.percent, 100 - *statistic.percent) / 100 : 1;
  return share * static_cast<double>(count) >= static_cast<double>(kBlocks);
}

}  // namespace

double student_t(std::int64_t degrees_of_freedom, double share) {
  assert(degrees_of_freedom > 0 && share > 0 && share < 1);
  const boost::math::students_t distribution(static_cast<double>(degrees_of_freedom));
  return boost::math::quantile(distribution, (1 + share) / 2);
}

Difference paired_difference(std::span<const double> baseline, std::span<const double> other) {
  assert(baseline.size() == other.size());
  const std::size_t pairs = baseline.size();
  Difference difference{.samples = std::ssize(baseline)};
  if (pairs == 0) return difference;
  for (std::size_t i = 0; i < pairs; ++i) difference.mean += other[i] - baseline[i];
  difference.mean /= static_cast<double>(pairs);
  if (pairs < 2) return difference;
  double squares = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double deviation = other[i] - baseline[i] - difference.mean;
    squares += deviation * deviation;
  }
  const double variance = squares / static_cast<double>(pairs - 1);
  set_interval(difference, std::sqrt(variance / static_cast<double>(pairs)),
               std::ssize(baseline) - 1);
  return difference;
}

std::optional<RequestStatistic> request_statistic(std::string_view name) {
  if (name == "mean") return RequestStatistic{};
  if (!name.starts_with('p')) return std::nullopt;
  const auto percent = to_number<double>(name.substr(1));
  return percent ? std::optional(RequestStatistic{.percent = percent}) : std::nullopt;
}

std::optional<double> statistic_of(const RequestValues& values, const RequestStatistic& statistic) {
  return figure_without(placed(values), kNoBlock, statistic);
}

std::optional<Difference> block_difference(const RequestValues& baseline,
                                           const RequestValues& other,
                                           const RequestStatistic& statistic, bool paired) {
  assert(!paired || baseline.size() == other.size());
  const std::vector<Placed> before = placed(baseline);
  const std::vector<Placed> after = placed(other);
  const auto from = figure_without(before, kNoBlock, statistic);
  const auto to = figure_without(after, kNoBlock, statistic);
  if (!from || !to) return std::nullopt;
  Difference difference{.mean = *to - *from, .samples = kBlocks};
  if (!tells_spread(std::min(before.size(), after.size()), statistic)) return difference;
  const auto without_before = replicates_of(before, statistic);
  const auto without_after = replicates_of(after, statistic);
  if (!without_before || !without_after) return difference;
  double variance = 0;
  if (paired) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < without_before->size(); ++i) {
      differences.push_back((*without_after)[i] - (*without_before)[i]);
    }
    variance = jackknife_variance(differences);
  } else {
    variance = jackknife_variance(*without_before) + jackknife_variance(*without_after);
  }
  set_interval(difference, std::sqrt(variance), kBlocks - 1);
  return difference;
}

}  // namespace roofcast

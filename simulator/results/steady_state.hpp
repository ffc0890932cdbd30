// Output analysis of a simulation: where its warm-up ends, how precisely a share or a percentile is
// known from one run, and whether its backlog grows. Pure functions of series in order of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace roofcast {

/// The confidence of every interval below, two-sided.
inline constexpr double kVerdictConfidence = 0.99;

/// Batches of one run whose means are taken as independent and normal.
inline constexpr std::int64_t kBatches = 20;

/// Number of values to leave out at the beginning so that the standard error of the mean of the
/// rest is least, by batches of 5: MSER-5 (White 1997, "An effective truncation heuristic for bias
/// reduction in simulation output", Simulation 69:6; Franklin and White 2008, "Stationarity tests
/// and MSER-5", Winter Simulation Conference). At most half of the values, since a minimum in the
/// second half says that the run is too short. 0 for fewer than 10 values.
std::size_t warm_up_of(std::span<const double> values);

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

/// The interval of the mean of a stationary series by the means of kBatches batches and Student's
/// t; the variance is multiplied by (1 + r) / (1 - r), with r the correlation of neighbouring
/// batches if it is above 0, as Skart does (Tafazzoli, Wilson, Lada and Steiger 2011,
/// "Performance of Skart", INFORMS J. Computing 23:2). `values` are 0 or 1. If all are equal, the
/// end that chance could still move is that of as many independent values. Nothing for fewer than
/// 5 values a batch.
std::optional<ConfidenceInterval> share_interval(std::span<const std::uint8_t> values);

/// The interval of a percentile (0 to 100) by the percentiles of kBatches batches (Seila 1982, "A
/// batching approach to quantile estimation in regenerative simulations", Management Science
/// 28:5). Nothing if a batch has fewer than 10 values beyond the percentile: its own percentile
/// would be biased.
std::optional<ConfidenceInterval> percentile_interval(std::span<const double> values,
                                                      double percent);

/// Growth of a backlog.
struct BacklogGrowth {
  double share = 0;  // of what arrived
  ConfidenceInterval interval{};
  bool settles = false;  // the level returns to its mean: it is not a random walk
};

/// Number of intervals between the levels that backlog_growth() takes.
inline constexpr std::size_t kLevelSteps = 100;

/// From kLevelSteps + 1 levels at equal distances in time, in which `arrived` came. The growth is
/// the sum of its increments. Of a random walk, as beyond saturation, increments are independent,
/// and the error of their sum comes from their variance over kBatches. If the level returns to its
/// mean, which the test of Dickey and Fuller (1979, "Distribution of the estimators for
/// autoregressive time series with a unit root", J. Amer. Stat. Assoc. 74) decides at 1 %, the
/// growth is the difference between the mean levels of the last and the first third, by the time
/// between their middles, and the error is that of two independent means of correlated levels:
/// variance (1 + r) / (1 - r) / n of n levels whose neighbours correlate by r. Precondition:
/// arrived > 0.
BacklogGrowth backlog_growth(std::span<const double> levels, double arrived);

}  // namespace roofcast

// Latencies as cumulative distributions over requests.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "reports/figures/figure.hpp"
#include "simulator/results/slo.hpp"

namespace roofcast {

/// The latency that a figure shows: its key, axis name and full name.
struct LatencyQuestion {
  std::string key{};    // "ttft"
  std::string name{};   // "TTFT"
  std::string words{};  // "Time to first token"
};

/// The latencies of requests that reports draw.
inline constexpr std::array kDrawnLatencies{LatencyMetric::ttft, LatencyMetric::tpot,
                                            LatencyMetric::e2e};

/// Precondition: one of kDrawnLatencies.
LatencyQuestion latency_question(LatencyMetric metric);

/// Values of one group of requests.
struct LatencySample {
  std::string name{};  // empty: all requests
  std::vector<double> values_s{};
};

struct LatencyLimit {
  std::string name{};
  double limit_s = 0;
};

/// The cumulative distribution of each sample, with percentiles as its table; nullopt if there are
/// no values.
std::optional<Figure> latency_figure(const LatencyQuestion& question,
                                     std::vector<LatencySample> samples,
                                     const std::vector<LatencyLimit>& limits);

}  // namespace roofcast

// Latencies as the share of requests that had no more of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/figures/figure.hpp"

namespace roofcast {

/// What a figure is of: key and axis, and in words.
struct LatencyQuestion {
  std::string key{};    // "ttft"
  std::string name{};   // "TTFT"
  std::string words{};  // "Time to the first token"
};

/// Values of one group of requests.
struct LatencySample {
  std::string name{};  // empty: all requests
  std::vector<double> values_s{};
};

struct LatencyLimit {
  std::string name{};
  double limit_s = 0;
};

/// The cumulative distribution of each sample; percentiles as its table. Nothing without values.
std::optional<Figure> latency_figure(const LatencyQuestion& question,
                                     std::vector<LatencySample> samples,
                                     const std::vector<LatencyLimit>& limits);

}  // namespace roofcast

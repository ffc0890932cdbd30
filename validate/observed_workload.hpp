// A workload like the one that a server's metrics counted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reports/importers/prometheus_load.hpp"
#include "simulator/workload/length_distribution.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Lengths to draw where the metrics have no histograms of them; unset: each request has the mean
/// of its interval's.
struct AssumedLengths {
  std::optional<LengthDistribution> input{}, output{};
};

/// As many requests per interval as were counted, at times drawn evenly over it (a Poisson process
/// given its count); lengths drawn from the histograms of the interval, or of the whole time where
/// it has none. Within a bucket (a, b] a length is a + (b - a) u^k with u even in (0, 1], where k
/// makes the mean of all lengths the measured one; beyond the last bound a bucket reaches twice as
/// far. Input and output are drawn apart, which metrics do not tell. Draws from streams
/// "observed_arrivals", "observed_inputs" and "observed_outputs" of `seed`. Throws Error if no
/// request was counted, or more than a workload may hold, and for lengths that are neither counted
/// nor assumed.
Workload workload_of(const ObservedLoad& load, std::uint64_t seed,
                     const AssumedLengths& assumed = {});

/// Its requests alone, which arrive at seconds since the load's first interval began, not since the
/// first of them.
std::vector<Request> requests_of(const ObservedLoad& load, std::uint64_t seed);

}  // namespace roofcast

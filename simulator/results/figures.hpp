// The figures of a result under the names that JSON, the store and flags have for them, each listed
// once. A name ends in its unit (_s, _per_s); without one it is a count or a share.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "simulator/results/result.hpp"

namespace roofcast {

/// A latency of which a result has the distribution.
struct LatencyFigure {
  const char* name;   // "ttft_s"
  const char* title;  // "TTFT", as tables and papers write it
  Distribution LoadResult::*distribution;
};

inline constexpr auto kLatencyFigures = std::to_array<LatencyFigure>({
    {"ttft_s", "TTFT", &LoadResult::ttft},
    {"tpot_s", "TPOT", &LoadResult::tpot},
    {"itl_s", "ITL", &LoadResult::itl},
    {"e2e_s", "E2E", &LoadResult::e2e},
    {"queue_s", "queue", &LoadResult::queue},
    {"client_queue_s", "client queue", &LoadResult::client_queue},
});

/// A figure that is one number.
struct ScalarFigure {
  const char* name;
  std::optional<double> (*value)(const SimulationResult&);  // unset where a result has none
};

/// All of them.
std::span<const ScalarFigure> scalar_figures();

}  // namespace roofcast

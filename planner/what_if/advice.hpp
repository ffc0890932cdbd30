// What to do about a deployment's latencies: changes that an operator can make, each simulated
// under the same requests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "planner/capacity/limits.hpp"
#include "planner/cost.hpp"
#include "planner/what_if/vary.hpp"

namespace roofcast {

/// A change, with its effect.
struct TriedChange {
  std::string title{};   // "one replica more"
  Settings settings{};   // as of --vary
  double latency_s = 0;  // the yardstick with it
  double gain = 0;       // share of the yardstick that it saves; negative: it gets worse
  SloVerdict verdict{};
  std::optional<double> dollars_per_hour{};  // unset: some GPU has no price
};

struct Advice {
  std::optional<double> dollars_per_hour{};  // as it is
  std::vector<TriedChange> changes{};        // largest gain first
};

/// A replica more, TP doubled, 8-bit weights and cache, longer and shorter batches, routing by
/// prefix, prefill and decode apart on as many GPUs: those that apply to the run's deployment. The
/// yardstick is that of report_limits(). What cannot run is left out. Precondition: the run has
/// been simulated. Returns nullopt if `progress` cancelled.
std::optional<Advice> advice_on(const SimulationRun& run, const SloRequirement& requirement,
                                int threads, const Progress& progress);

}  // namespace roofcast

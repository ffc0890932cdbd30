// What to do about a deployment's latencies: changes that an operator can make, each simulated
// under the same requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/vary/vary.hpp"
#include "planner/verdict/limits.hpp"
#include "planner/verdict/steady_run.hpp"

namespace roofcast {

/// What a verdict says of a deployment, for a list of them.
enum class SloOutcome { met, missed, undecided, saturated };

std::string_view name_of(SloOutcome outcome);

SloOutcome outcome_of(const SloVerdict& verdict);

/// A change, with its effect.
struct TriedChange {
  std::string title{};   // "one replica more"
  Settings settings{};   // as of --vary
  double latency_s = 0;  // the yardstick with it; of a saturated run that of its length only
  double gain = 0;       // share of the yardstick that it saves; negative: it gets worse
  SloOutcome slo = SloOutcome::missed;
  std::optional<double> dollars_per_hour{};  // unset: some GPU has no price
};

struct Advice {
  SloOutcome slo = SloOutcome::missed;       // as it is
  std::optional<double> dollars_per_hour{};  // as it is
  std::vector<TriedChange> changes{};        // saturated ones last, then largest gain first
  std::int64_t simulations = 0;
};

/// A replica more, TP doubled, 8-bit weights and cache, longer and shorter batches, padded ones,
/// prompts in chunks where some are refused, routing by prefix, prefill and decode apart on as many
/// GPUs: those that apply to the run's deployment. If
/// none of them meets the SLO, also as many replicas as it takes, up to 16 times those of the run.
/// The yardstick is that of report_limits(), and compares the run's own requests; verdicts are on
/// `question`'s load, if it grows. What cannot run, or refuses more requests, is left out.
/// Precondition: the run has been simulated. Returns nullopt if `progress` cancelled.
std::optional<Advice> advice_on(const SimulationRun& run, const SteadyQuestion& question,
                                int threads, const Progress& progress);

}  // namespace roofcast

#include "planner/what_if/hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {
namespace {

/// From here on a latency is mostly waiting.
constexpr double kMostly = 0.5;
/// A target met with this much room to spare leaves the deployment too large.
constexpr double kAmpleMargin = 0.5;

const TargetOutcome* worst_of(const SimulationResult& result, bool first_token) {
  const TargetOutcome* worst = nullptr;
  for (const TargetOutcome& outcome : result.slo) {
    const LatencyMetric metric = outcome.target.metric;
    const bool is_first = metric == LatencyMetric::ttft;
    if (outcome.met || is_first != first_token || metric == LatencyMetric::e2e) continue;
    if (worst == nullptr || outcome.attainment < worst->attainment) worst = &outcome;
  }
  return worst;
}

bool waits(const SimulationResult& result) {
  return result.ttft.mean > 0 && result.queue.mean / result.ttft.mean >= kMostly;
}

/// The least margin of the targets on first tokens, or on all others but those on whole requests;
/// nullopt without such a target.
std::optional<double> least_margin(const SimulationResult& result, const SloVerdict& verdict,
                                   bool first_token) {
  std::optional<double> least;
  for (std::size_t i = 0; i < result.slo.size() && i < verdict.margins.size(); ++i) {
    const LatencyMetric metric = result.slo[i].target.metric;
    if (metric == LatencyMetric::e2e || (metric == LatencyMetric::ttft) != first_token) continue;
    least = std::min(least.value_or(verdict.margins[i].margin), verdict.margins[i].margin);
  }
  return least;
}

/// Of pools that prefill and decode apart, which is short while the other has room; empty if none
/// is.
std::string unbalanced_pools(const SimulationRun& run) {
  const auto replicas = [&](PoolRole role) {
    std::int64_t count = 0;
    for (const PoolRun& pool : run.pools) count += pool.role == role ? pool.replicas : 0;
    return count;
  };
  const std::int64_t prefill = replicas(PoolRole::prefill), decode = replicas(PoolRole::decode);
  if (prefill == 0 || decode == 0) return "";
  const SloVerdict verdict = judge(run.result);
  const auto first = least_margin(run.result, verdict, true);
  const auto other = least_margin(run.result, verdict, false);
  if (!first || !other) return "";
  const auto instead = [](std::int64_t spare, const char* whose) {
    return spare > 1 ? fmt::format(" in place of {} replicas", whose) : std::string();
  };
  if (*first < 0 && *other >= kAmpleMargin) {
    return fmt::format(
        "First tokens come too late while decoding has {} to spare: more prefill replicas{} "
        "(`prefill_replicas`, `decode_replicas`) may hold.",
        as_percent(*other, 0), instead(decode, "decode"));
  }
  if (*other < 0 && *first >= kAmpleMargin) {
    return fmt::format(
        "Tokens come too slowly while first tokens have {} to spare: more decode replicas{} "
        "(`decode_replicas`, `prefill_replicas`) may hold.",
        as_percent(*first, 0), instead(prefill, "prefill"));
  }
  return "";
}

}  // namespace

const char* const kScatteredPrefixes =
    "round_robin spreads a session's turns over replicas, so its cached prefix is rarely hit; use "
    "`router` prefix_affinity.";

bool scatters_prefixes(const Scenario& scenario, std::int64_t replicas) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  const ClusterScenario cluster = scenario.cluster.value_or(ClusterScenario{});
  return synthetic != nullptr && synthetic->sessions && replicas > 1 &&
         cluster.router.policy == RouterPolicy::round_robin;
}

std::vector<std::string> hints_on(const SimulationRun& run) {
  const SimulationResult& result = run.result;
  std::vector<std::string> hints;
  if (result.completed == 0) return hints;
  const PoolRun& first = run.pools.front();
  if (first.deployment.engine.prefix_caching && scatters_prefixes(run.scenario, first.replicas)) {
    hints.emplace_back(kScatteredPrefixes);
  }
  if (std::string text = unbalanced_pools(run); !text.empty()) hints.push_back(std::move(text));
  if (result.saturation.saturated) {
    hints.emplace_back(
        "The load exceeds the capacity, so queues keep growing: add replicas, or GPUs per replica "
        "(roofcast plan finds the cheapest deployment that suffices).");
  } else if (worst_of(result, true) != nullptr && waits(result)) {
    hints.push_back(fmt::format(
        "{} of the mean TTFT is waiting in the queue: another replica may shorten it; a "
        "larger token budget per step (`max_num_batched_tokens`) admits prompts "
        "sooner.",
        as_percent(result.queue.mean / result.ttft.mean, 0)));
  } else if (worst_of(result, true) != nullptr) {
    hints.push_back(fmt::format(
        "TTFT is the prompt's own computation: more GPUs per replica (`tensor_parallel_size`){} or "
        "a GPU with more FLOP/s may shorten it.",
        run.scenario.deployment.weight_format ? "" : ", fp8 weights (`quantization` fp8)"));
  }
  if (worst_of(result, false) != nullptr) {
    hints.push_back(fmt::format(
        "Tokens come too slowly: fewer sequences at once (`max_num_seqs`), more GPUs per "
        "replica{}{} or a GPU with more memory bandwidth may shorten a step; speculative decoding "
        "helps where batches are small.",
        run.scenario.deployment.weight_format ? "" : ", fp8 weights (`quantization` fp8)",
        run.scenario.deployment.overrides.kv_cache_dtype
            ? ""
            : ", an fp8 KV cache (`kv_cache_dtype` fp8)"));
  }
  if (result.use.preemptions > 0) {
    hints.push_back(fmt::format(
        "{}: the KV cache is too small for what runs at once. A larger share of the memory "
        "(`gpu_memory_utilization`){} or fewer sequences at once avoid it.",
        counted(result.use.preemptions, "preemption"),
        run.scenario.deployment.overrides.kv_cache_dtype
            ? ""
            : ", an fp8 KV cache (`kv_cache_dtype` fp8)"));
  }
  const bool keeps_up = !result.saturation.saturated && !result.saturation.undecided;
  const SloVerdict verdict = judge(result);
  const bool ample = !verdict.margins.empty() && verdict.worst_margin >= kAmpleMargin;
  if (ample && verdict.holds && keeps_up) {
    hints.push_back(fmt::format(
        "Every target is met with at least {} to spare: roofcast capacity says how much more load "
        "this carries, roofcast plan whether something cheaper is enough.",
        as_percent(verdict.worst_margin, 0)));
  }
  return hints;
}

}  // namespace roofcast

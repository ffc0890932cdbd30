#include "planner/what_if/hints.hpp"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

std::vector<std::string> hints_on(const SimulationRun& run) {
  const SimulationResult& result = run.result;
  std::vector<std::string> hints;
  if (result.completed == 0) return hints;
  if (result.saturation.saturated) {
    hints.emplace_back(
        "The load exceeds the capacity, so queues keep growing: add replicas, or GPUs per replica "
        "(roofcast plan finds the cheapest deployment that suffices).");
  } else if (worst_of(result, true) != nullptr && waits(result)) {
    hints.push_back(fmt::format(
        "{} of the mean TTFT is waiting in the queue: another replica may shorten it; a "
        "larger token budget per step (--max-num-batched-tokens) admits prompts "
        "sooner.",
        as_percent(result.queue.mean / result.ttft.mean, 0)));
  } else if (worst_of(result, true) != nullptr) {
    hints.push_back(fmt::format(
        "TTFT is the prompt's own computation: more GPUs per replica (--tensor-parallel-size){} or "
        "a GPU with more FLOP/s may shorten it.",
        run.scenario.weight_format ? "" : ", fp8 weights (--quantization fp8)"));
  }
  if (worst_of(result, false) != nullptr) {
    hints.push_back(fmt::format(
        "Tokens come too slowly: fewer sequences at once (--max-num-seqs), more GPUs per "
        "replica{}{} or a GPU with more memory bandwidth may shorten a step; speculative decoding "
        "helps where batches are small.",
        run.scenario.weight_format ? "" : ", fp8 weights (--quantization fp8)",
        run.scenario.overrides.kv_cache_dtype ? "" : ", an fp8 KV cache (--kv-cache-dtype fp8)"));
  }
  if (result.use.preemptions > 0) {
    hints.push_back(fmt::format(
        "{}: the KV cache is too small for what runs at once. A larger share of the memory "
        "(--gpu-memory-utilization){} or fewer sequences at once avoid it.",
        counted(result.use.preemptions, "preemption"),
        run.scenario.overrides.kv_cache_dtype ? "" : ", an fp8 KV cache (--kv-cache-dtype fp8)"));
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

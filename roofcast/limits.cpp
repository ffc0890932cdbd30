#include "roofcast/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "roofcast/record_parts.hpp"

namespace roofcast {
namespace {

/// A knob's value if it is the same in all pools.
std::optional<std::int64_t> common_value(std::span<const PoolRun> pools,
                                         std::int64_t Engine::*knob) {
  const std::int64_t value = pools.front().deployment.engine.*knob;
  for (const PoolRun& pool : pools) {
    if (pool.deployment.engine.*knob != value) return std::nullopt;
  }
  return value;
}

/// "p95 TTFT", or "mean E2E" without an SLO.
std::string yardstick_of(const LimitReport& report) {
  return report.target ? name_of(report.target->target) : "mean E2E";
}

}  // namespace

LimitsAnswer limits_answer(const LimitReport& report, std::span<const PoolRun> pools) {
  LimitsAnswer answer{
      .yardstick = yardstick_of(report),
      .as_is_s = report.as_is_s,
      .limit_s = report.target ? std::optional(report.target->target.limit.value) : std::nullopt,
      .binding = report.binding,
      .preemptions = report.use.preemptions,
      .max_num_batched_tokens = common_value(pools, &Engine::max_num_batched_tokens),
      .max_num_seqs = common_value(pools, &Engine::max_num_seqs)};
  // Times between tokens do not know of it.
  const bool from_sending = !report.target || report.target->target.metric == LatencyMetric::ttft ||
                            report.target->target.metric == LatencyMetric::e2e;
  if (from_sending && report.tokenizer_share > 0) answer.tokenizer_share = report.tokenizer_share;
  for (const LimitGain& gain : report.gains) {
    answer.limits.push_back({.limit = gain.use.kind,
                             .used_share = gain.use.share,
                             .relaxed_s = gain.relaxed_s,
                             .relative_gain = gain.gain});
  }
  return answer;
}

AdviceAnswer advice_answer(const Advice& advice) {
  AdviceAnswer answer{.slo = advice.slo, .dollars_per_hour = advice.dollars_per_hour};
  for (const TriedChange& tried : advice.changes) {
    std::string flags;
    for (const Setting& setting : tried.settings) {
      flags += fmt::format("{}--{} {}", flags.empty() ? "" : " ", with_dashes(setting.key),
                           setting.value);
    }
    AdvisedChange change{.change = tried.title,
                         .flags = std::move(flags),
                         .slo = tried.slo,
                         .dollars_per_hour = tried.dollars_per_hour};
    if (tried.slo != SloOutcome::saturated) {
      change.latency_s = tried.latency_s;
      change.relative_gain = tried.gain;
    }
    answer.changes.push_back(std::move(change));
  }
  return answer;
}

Json to_json(const LimitsAnswer& limits) { return record_to_json(limits); }

}  // namespace roofcast

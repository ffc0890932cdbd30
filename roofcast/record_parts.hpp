// Members shared by several answers, as base/record.hpp writes and reads them. Internal to
// roofcast/.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/distribution.hpp"
#include "calibrate/curve_errors.hpp"
#include "planner/capacity/load_study.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/search/figures_record.hpp"
#include "roofcast/answer_json.hpp"
#include "roofcast/limits.hpp"
#include "simulator/cluster/cluster.hpp"
#include "simulator/scenario.hpp"
#include "validate/ledger.hpp"

namespace roofcast {

/// Names of the first `count` enumerators, which are numbered from 0.
template <class Enum>
std::vector<std::pair<Enum, std::string_view>> names_of_first(int count) {
  std::vector<std::pair<Enum, std::string_view>> names;
  for (int i = 0; i < count; ++i) {
    names.emplace_back(static_cast<Enum>(i), name_of(static_cast<Enum>(i)));
  }
  return names;
}

template <>
struct EnumNames<LimitKind> {
  static inline const auto values =
      names_of_first<LimitKind>(static_cast<int>(LimitKind::queueing) + 1);
};

template <>
struct EnumNames<SloOutcome> {
  static inline const auto values =
      names_of_first<SloOutcome>(static_cast<int>(SloOutcome::saturated) + 1);
};

template <>
struct EnumNames<LoadKind> {
  static constexpr std::array values{std::pair{LoadKind::rate, "rate_per_s"},
                                     std::pair{LoadKind::concurrency, "concurrency"}};
};

template <>
struct EnumNames<PoolRole> {
  static inline const auto values =
      names_of_first<PoolRole>(static_cast<int>(PoolRole::decode) + 1);
};

template <>
struct EnumNames<OperatorFamily> {
  static inline const auto values = names_of_first<OperatorFamily>(kOperatorFamilies);
};

/// Errors of points that were answered from the others of their curve. `judged`: and how many
/// points had neighbours for it.
template <class Visitor>
void visit_family(Visitor& visit, FamilyError& family, bool judged) {
  visit("family", family.family, "of operators");
  visit("kernel", family.kernel, "source of the kernels");
  visit("curves", family.curves, "how many");
  visit("points", family.points, "on them");
  if (judged) visit("judged_points", family.judged, "with neighbours on both sides");
  visit("median_error", family.median_error, "relative; 0 without judged points");
  visit("p90_error", family.p90_error, "relative; 0 without judged points");
}

/// A latency beside others: its mean and percentiles.
struct LatencySummary {
  Distribution of{};
};

template <class Visitor>
void members(Visitor& visit, LatencySummary& latency) {
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (is_mean_or_percentile(statistic)) {
      visit(statistic.name, latency.of.*statistic.value, "seconds");
    }
  }
}

template <class Visitor>
void visit_latency(Visitor& visit, const char* key, Distribution& of, const char* meaning) {
  LatencySummary latency{of};
  visit(key, latency, meaning);
  of = latency.of;
}

/// The same; without the key if unset.
template <class Visitor>
void visit_latency(Visitor& visit, const char* key, std::optional<Distribution>& of,
                   const char* meaning) {
  std::optional<LatencySummary> latency;
  if (of) latency = LatencySummary{*of};
  visit.if_set(key, latency, meaning);
  of.reset();
  if (latency) of = latency->of;
}

// A scenario appears in an answer as in its file (simulator/io/scenario.schema.json).

template <>
Json value_to_json<Scenario>(const Scenario& scenario);
template <>
void value_from_json<Scenario>(const Json& json, Scenario& scenario, const std::string& path);
template <>
Json value_schema<Scenario>();

template <class Visitor>
void members(Visitor& visit, LimitAnswer& limit) {
  visit("limit", limit.limit, "which");
  visit("used_share", limit.used_share,
        "KV memory: peak share of the fullest engine's blocks; queueing: share of the mean TTFT; "
        "all others: share of the time of all steps");
  visit("relaxed_s", limit.relaxed_s, "the compared latency with 10 % more of this limit");
  visit("relative_gain", limit.relative_gain, "share by which the compared latency falls");
  visit.if_set("relaxed_capacity", limit.relaxed_capacity,
               "capacity with 10 % more of this limit; null if no load meets the SLO");
}

template <class Visitor>
void members(Visitor& visit, AdvisedChange& change) {
  visit("change", change.change, "what was tried");
  visit("flags", change.flags, "as flags of simulate");
  visit("latency_s", change.latency_s, "the compared latency with it; null: grows without bound");
  visit("relative_gain", change.relative_gain, "share by which the compared latency falls");
  visit("slo", change.slo, "met, missed, undecided or saturated with it");
  visit("cost_usd_per_h", change.dollars_per_hour, "with it; null: a price is unknown");
}

template <class Visitor>
void members(Visitor& visit, AdviceAnswer& advice) {
  visit("slo", advice.slo, "met, missed, undecided or saturated as it is");
  visit("cost_usd_per_h", advice.dollars_per_hour, "unchanged; null: a price is unknown");
  visit("changes", advice.changes, "largest gain first");
}

template <class Visitor>
void members(Visitor& visit, LimitsAnswer& limits) {
  visit("yardstick", limits.yardstick, "name of the compared latency");
  visit("as_is_s", limits.as_is_s, "its unchanged value");
  visit.if_set("limit_s", limits.limit_s, "limit of the target that it belongs to; absent: no SLO");
  visit("binding", limits.binding, "the binding limit; null if none binds by itself");
  visit.if_set(
      "tokenizer_share", limits.tokenizer_share,
      "share of the mean TTFT that waits for other prompts to be tokenised; absent: none, or "
      "the yardstick is a time between tokens");
  visit("limits", limits.limits, "largest gain first");
  visit.if_set("advice", limits.advice, "changes that were simulated");
}

template <class Visitor>
void members(Visitor& visit, ErrorLimit& limit) {
  visit("name", limit.name, "of the metric; empty: every metric");
  visit("statistic", limit.statistic, "of the metric; empty: every statistic");
  visit("share", limit.share, "the largest mean absolute error that is accepted");
}

}  // namespace roofcast

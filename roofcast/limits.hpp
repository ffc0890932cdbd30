// The limits of a simulated run as part of an answer: how much of each was used, and the gain from
// 10 % more of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "planner/verdict/limits.hpp"
#include "planner/what_if/advice.hpp"

namespace roofcast {

struct LimitAnswer {
  LimitKind limit = LimitKind::kv_memory;
  double used_share = 0;     // of which resource: see LimitUse::share
  double relaxed_s = 0;      // the yardstick with 10 % more of it
  double relative_gain = 0;  // share of the yardstick saved; negative if it gets worse
  /// Capacity within the SLO with 10 % more of it, null if no load holds; set only by capacity()
  /// with `explain`.
  std::optional<std::optional<double>> relaxed_capacity{};
};

/// A change that was tried (planner/what_if/advice.hpp).
struct AdvisedChange {
  std::string change{};  // "one replica more"
  std::string flags{};   // "--replicas 3"
  /// The yardstick with it, and the share of it that is saved; unset if it grows without bound.
  std::optional<double> latency_s{};
  std::optional<double> relative_gain{};
  SloOutcome slo = SloOutcome::missed;
  std::optional<double> dollars_per_hour{};
};

/// The changes that can be made: the greatest gain first, those that saturate last.
struct AdviceAnswer {
  SloOutcome slo = SloOutcome::missed;       // as it is
  std::optional<double> dollars_per_hour{};  // as it is
  std::vector<AdvisedChange> changes{};
};

struct LimitsAnswer {
  std::string yardstick{};             // the latency compared: "p95 TTFT", "mean E2E"
  double as_is_s = 0;                  // its value in the run itself
  std::optional<double> limit_s{};     // of the target that it belongs to; unset: no SLO
  std::optional<LimitKind> binding{};  // unset: no single limit binds
  /// Share of the mean TTFT that waits for other prompts to be tokenised; unset: none does, or the
  /// yardstick is a time between tokens.
  std::optional<double> tokenizer_share{};
  std::vector<LimitAnswer> limits{};  // greatest gain first
  std::optional<AdviceAnswer> advice{};

  // Not in the JSON.
  std::int64_t preemptions = 0;
  std::optional<std::int64_t> max_num_batched_tokens{};  // set if equal in all pools
  std::optional<std::int64_t> max_num_seqs{};            // set if equal in all pools
};

/// Precondition: at least one pool.
LimitsAnswer limits_answer(const LimitReport& report, std::span<const PoolRun> pools);

AdviceAnswer advice_answer(const Advice& advice);

Json to_json(const LimitsAnswer& limits);

}  // namespace roofcast

// The limits of a simulated run as part of an answer: how much of each was used, and what a tenth
// more of it would bring.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "planner/capacity/limits.hpp"

namespace roofcast {

struct LimitAnswer {
  LimitKind limit = LimitKind::kv_memory;
  double used_share = 0;     // of what, by kind: LimitUse::share
  double relaxed_s = 0;      // the yardstick with a tenth more of it
  double relative_gain = 0;  // share of the yardstick that is saved; below 0 where it gets worse
  /// The most load within the SLO with a tenth more of it, null where none holds; set only by a
  /// capacity that was asked to explain.
  std::optional<std::optional<double>> relaxed_capacity{};
};

struct LimitsAnswer {
  std::string yardstick{};              // the latency that is compared: "p95 TTFT", "mean E2E"
  double as_is_s = 0;                   // its value as it is
  std::optional<LimitKind> binding{};   // unset: none binds by itself
  std::vector<LimitAnswer> limits{};    // greatest gain first

  // Not in the JSON.
  std::int64_t preemptions = 0;
  std::optional<std::int64_t> max_num_batched_tokens{};  // where all pools have the same
  std::optional<std::int64_t> max_num_seqs{};            // likewise
};

/// Precondition: one pool at least.
LimitsAnswer limits_answer(const LimitReport& report, std::span<const PoolRun> pools);

Json to_json(const LimitsAnswer& limits);

}  // namespace roofcast

// The facts about a load that bounds need: sorted lengths, its duration, and which share of its
// requests must meet which latency limit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/results/verdict.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// A latency target and the requests it covers.
struct PromisedLoad {
  std::string name{};  // "p95 TTFT", "p95 TTFT of chat", "goodput: ttft"
  LatencyMetric metric = LatencyMetric::ttft;
  double limit_s = 0;
  /// Index, from 0, of the sorted latency that must be within the limit: the target's lower order
  /// statistic, so that all before it are within the limit too.
  std::int64_t last_within = 0;
  std::size_t group = 0;  // index into PlanLoad::groups
};

/// Lengths of the requests of one class, each list in ascending order.
struct RequestLengths {
  /// Prompt tokens that no prefix cache can hold: at least 1.
  std::vector<std::int64_t> prompts{};
  std::vector<std::int64_t> later_tokens{};      // output tokens after the first, if any
  std::vector<std::int64_t> all_later_tokens{};  // the same for all requests, including 0
  std::vector<std::int64_t> totals{};            // prompts + later tokens, request by request
  std::int64_t image_tokens = 0;                 // the most of any prompt
};

struct PlanLoad {
  std::vector<RequestLengths> groups{};  // all requests, then each class
  std::vector<PromisedLoad> promises{};
  /// Arrivals do not depend on the service: no sessions, no client limit.
  bool open = false;
  double span_s = 0;  // from first to last arrival, if open
};

/// Leaves out requests of stages that are not reported, as no target covers them.
PlanLoad plan_load(const Workload& workload, bool client_limited, const Slo& slo,
                   const SloRequirement& requirement);

}  // namespace roofcast

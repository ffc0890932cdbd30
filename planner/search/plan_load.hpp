// What bounds need to know of a load: lengths in order, how long it lasts, and which share of its
// requests must be answered within which limit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/results/verdict.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Requests that a promise is about, and the promise.
struct PromisedLoad {
  std::string name{};  // "p95 ttft", "p95 ttft of chat", "goodput: ttft"
  LatencyMetric metric = LatencyMetric::ttft;
  double limit_s = 0;
  /// Of the sorted latencies, the one (from 0) that must be within the limit: the target's lower
  /// order statistic, so that all before it are too.
  std::int64_t last_within = 0;
  std::size_t group = 0;  // of PlanLoad::groups
};

/// Lengths of the requests of one class, each list in ascending order.
struct RequestLengths {
  /// Prompt tokens that no prefix cache can hold: at least 1.
  std::vector<std::int64_t> prompts{};
  std::vector<std::int64_t> later_tokens{};  // output tokens after the first, where there are any
  std::vector<std::int64_t> all_later_tokens{};  // likewise, of all requests: 0 included
  std::vector<std::int64_t> totals{};            // prompts + later tokens, request by request
};

struct PlanLoad {
  std::vector<RequestLengths> groups{};  // all requests, then each class
  std::vector<PromisedLoad> promises{};
  /// Requests arrive when they do however slow the service is: no sessions, no client limit.
  bool open = false;
  double span_s = 0;  // from the first arrival to the last, of an open load
};

/// Requests of stages that are not reported are left out: nothing is promised to them.
PlanLoad plan_load(const Workload& workload, bool client_limited, const Slo& slo,
                   const SloRequirement& requirement);

}  // namespace roofcast

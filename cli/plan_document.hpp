// The answer of `roofcast plan`, for people and for machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/limits.hpp"
#include "planner/plan.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// Which limit binds the best.
struct BestLimits {
  LimitReport report{};
  std::vector<PoolRun> pools{};
};

struct PlanReport {
  const PlanQuestion& question;
  const PlanCatalogue& catalogue;
  const PlanAnswer& answer;
  bool explain = false;
  std::optional<BestLimits> limits{};  // with explain, of an answer
};

Document plan_document(const PlanReport& report);

/// The first line of the answer: "Cheapest: 3 replicas of ...".
std::string plan_headline(const PlanReport& report);

}  // namespace roofcast

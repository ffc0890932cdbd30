// The answer of `roofcast plan`, for people and for machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/limits.hpp"
#include "planner/search/plan.hpp"
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

/// Never "1": what is left out of the probability is more than that.
std::string as_probability(double probability);

/// What became of shapes: they "do not fit in memory".
const char* reason_text(ShapeOutcome outcome);

/// The first line of the answer: "Cheapest: 3 replicas of ...".
std::string plan_headline(const PlanReport& report);

}  // namespace roofcast

// The answer of `roofcast plan`, for people and for machines.
#pragma once

#include <string>

#include "planner/plan.hpp"
#include "reports/document.hpp"

namespace roofcast {

struct PlanReport {
  const PlanQuestion& question;
  const PlanCatalogue& catalogue;
  const PlanAnswer& answer;
  bool explain = false;
};

Document plan_document(const PlanReport& report);

/// The first line of the answer: "Cheapest: 3 replicas of ...".
std::string plan_headline(const PlanReport& report);

}  // namespace roofcast

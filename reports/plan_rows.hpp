// Rows that the store keeps for a plan: its evaluations while it searches, its answer at the end.
// Columns: reports/schema.sql.
#pragma once

#include <string>

namespace roofcast {

/// One row of `evaluations`: a candidate simulated at a load.
struct EvaluationRow {
  std::string question{};  // everything that decides the answer except the program's version
  std::string answer{};
};

/// Added to a plan's rows of `runs` and `plans` when it ends: the deployment that it chose, or
/// empty if none meets the SLO.
struct PlanEnd {
  std::string summary{};
  std::string gpu{}, engine{}, profile_hash{};
  std::string answer_json{};
};

}  // namespace roofcast

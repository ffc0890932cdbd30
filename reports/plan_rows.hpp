// What the store keeps of a plan: its evaluations while it searches, its answer at the end.
// Columns: reports/schema.sql.
#pragma once

#include <string>

namespace roofcast {

/// One row of `evaluations`: a candidate simulated at a load.
struct EvaluationRow {
  std::string question{};  // everything that decides the answer, but the program's version
  std::string answer{};
};

/// What a plan adds to its rows of `runs` and `plans` when it ends: of the deployment that it
/// chose, or empty where none holds.
struct PlanEnd {
  std::string summary{};
  std::string gpu{}, engine{}, profile_hash{};
  std::string answer_json{};
};

}  // namespace roofcast

// What `roofcast memory` answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/deploy.hpp"
#include "model/memory/memory_plan.hpp"
#include "reports/document.hpp"

namespace roofcast {

struct MemoryQuestion {
  enum class Solve { none, batch, context, tensor_parallel };
  Solve solve = Solve::none;
  std::optional<std::int64_t> context;  // tokens per sequence
  std::optional<std::int64_t> batch;    // sequences
};

/// Throws UsageError naming the three words.
MemoryQuestion::Solve parse_solve(const std::string& text);

struct MemoryAnswer {
  Document document;
  bool yes = false;  // it fits, or the question has a solution
};

MemoryAnswer answer_memory(const DeploymentOptions& options, const MemoryQuestion& question);

}  // namespace roofcast

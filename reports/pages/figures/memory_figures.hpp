// A GPU's memory by term, as a stacked bar.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/memory/memory_plan.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// One bar: its name, and its memory plan.
struct MemoryBar {
  std::string name{};  // "one GPU", "prefill"
  MemoryPlan plan{};
  MemoryRule rule = MemoryRule::vllm;  // the rule that computed the plan
};

/// Precondition: at least one bar, with terms.
Figure memory_figure(const std::vector<MemoryBar>& bars);

/// One bar per pool, or a single one if all pools are alike. Precondition: at least one pool.
Figure memory_figure(std::span<const PoolRun> pools);

}  // namespace roofcast

// The memory of a GPU, every term of it, as a stacked bar.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/memory/memory_plan.hpp"
#include "planner/scenario_run.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// One bar: whose memory, and how it is divided.
struct MemoryBar {
  std::string name{};  // "one GPU", "prefill"
  MemoryPlan plan{};
  MemoryRule rule = MemoryRule::vllm;  // that divided it
};

/// Precondition: one bar at least, with terms.
Figure memory_figure(const std::vector<MemoryBar>& bars);

/// One bar a pool, or one where pools are alike. Precondition: one pool at least.
Figure memory_figure(std::span<const PoolRun> pools);

}  // namespace roofcast

// A stored simulation, made again from its own input.
#pragma once

#include <optional>
#include <string>

#include "planner/scenario_run.hpp"
#include "reports/store.hpp"

namespace roofcast {

struct Replay {
  std::optional<SimulationRun> run{};  // with its result; only where it came out as stored
  std::string remark{};  // how it came out, in a sentence: that it is the same, or why it is not
};

/// Simulates the run's scenario. There is no run where the input can no longer be read, its
/// hardware profile is another by now, or a stored metric comes out otherwise. Throws Error when
/// `progress` ends the work.
Replay replayed(const Run& stored, const ProgressFunction& progress);

}  // namespace roofcast

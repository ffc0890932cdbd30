// A stored simulation, made again from its own input.
#pragma once

#include <optional>
#include <string>

#include "planner/scenario_run.hpp"
#include "reports/pages/simulation_report.hpp"
#include "reports/store.hpp"

namespace roofcast {

struct Replay {
  std::optional<SimulationRun> run{};  // with its result; only where it came out as stored
  std::string remark{};  // how it came out, in a sentence: that it is the same, or why it is not
};

/// Simulates the run's scenario. There is no run where the input can no longer be read, its
/// hardware profile is another by now, a stored metric comes out otherwise, or files are not to be
/// opened and it names one. Throws Error when the effort's progress ends the work.
Replay replayed(const Run& stored, const ReportEffort& effort);

}  // namespace roofcast

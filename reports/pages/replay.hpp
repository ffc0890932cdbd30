// Repeats a stored simulation from its own input.
#pragma once

#include <optional>
#include <string>

#include "planner/scenario/simulation_run.hpp"
#include "reports/pages/simulation_report.hpp"
#include "reports/store.hpp"

namespace roofcast {

struct Replay {
  std::optional<SimulationRun> run{};  // with its result; only if it reproduces the stored one
  std::string remark{};                // one sentence: that it is the same, or why it is not
};

/// Simulates the scenario of a run of `store`. `run` is empty if the input can no longer be read,
/// the hardware profile has changed, a stored metric has another value, or the scenario names a
/// file and files must not be opened. Throws Error if the effort's progress callback stops the
/// work.
Replay replayed(const Store& store, const Run& stored, const ReportEffort& effort);

}  // namespace roofcast

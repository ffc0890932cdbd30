// Where the numbers of a simulation come from, and how far off they may be.
#pragma once

#include "model/step/generation_estimate.hpp"
#include "reports/pages/simulation_report.hpp"

namespace roofcast {

/// Sources of the step times and of the hardware profile, one standard deviation of what the run
/// rests on, and the probability that its SLO holds (planner/capacity/confidence.hpp). `estimate`:
/// of the first pool's deployment.
ReportSection provenance_section(const SimulationRun& run, const GenerationEstimate& estimate,
                                 const ReportEffort& effort);

}  // namespace roofcast

// The sources of a simulation's numbers, and their uncertainty.
#pragma once

#include "model/step/generation_estimate.hpp"
#include "reports/pages/simulation_report.hpp"

namespace roofcast {

/// Sources of the step times and of the hardware profile, one standard deviation of each input of
/// the run, and the probability that its SLO holds (planner/capacity/confidence.hpp). `estimate` is
/// for the first pool's deployment.
ReportSection provenance_section(const SimulationRun& run, const GenerationEstimate& estimate,
                                 const ReportEffort& effort);

}  // namespace roofcast

// The sources of a simulation's numbers, and their uncertainty.
#pragma once

#include <optional>

#include "model/step/generation_estimate.hpp"
#include "planner/verdict/confidence.hpp"
#include "reports/pages/simulation_report.hpp"

namespace roofcast {

/// The probability that the run's SLO is met; nullopt without an SLO, and for loads of which some
/// 25 simulations would take too long. Throws if the reader interrupts it.
std::optional<Confidence> confidence_in(const SimulationRun& run, const ReportEffort& effort);

/// Sources of the step times and of the hardware profile, one standard deviation of each input of
/// the run, and what `confidence_in` found. `estimate` is for the first pool's deployment.
ReportSection provenance_section(const SimulationRun& run, const GenerationEstimate& estimate,
                                 const std::optional<Confidence>& confidence);

}  // namespace roofcast

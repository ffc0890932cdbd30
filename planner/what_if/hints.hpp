// What may help a simulation's outcome, in sentences: one per finding, with the flag to try. The
// one advice without further simulations, of the terminal, the page and reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/scenario/simulation_run.hpp"

namespace roofcast {

/// At most a few sentences, the most pressing first; empty for a run that nothing finished in.
/// Based on the run alone: nothing is simulated (planner/what_if/advice.hpp tries changes).
std::vector<std::string> hints_on(const SimulationRun& run);

/// Whether turns of a session share prefixes and are spread over `replicas` without regard to them.
bool scatters_prefixes(const Scenario& scenario, std::int64_t replicas);

/// What to do where scatters_prefixes().
extern const char* const kScatteredPrefixes;

}  // namespace roofcast

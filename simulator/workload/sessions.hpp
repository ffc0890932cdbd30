// Conversations of several turns.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/workload/arrivals.hpp"
#include "simulator/workload/length_table.hpp"
#include "simulator/workload/synthetic.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Fills the workload with sessions, one per arrival, in order of arrival, each with its turns in
/// order. Draws from streams "session_turns", "think_times", "first_input_lengths", "input_lengths"
/// (later questions) and "output_lengths". The prompts' contents are the span of the system prompt,
/// if `spec` has a shared prefix, and the span of the session. Throws Error naming the parameter
/// that is out of range. `spec.sessions` must be set.
void draw_sessions(Workload& workload, const SyntheticWorkload& spec, const Arrivals& arrivals,
                   std::uint64_t seed, const std::vector<LengthTable>& tables);

}  // namespace roofcast

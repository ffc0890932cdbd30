// How vLLM V1 admits waiting requests: the second half of a scheduling step.
#pragma once

#include <cstdint>

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// Of a request's tokens still to compute, those that one step may take, before its budget.
std::int64_t wanted_tokens(const Engine& engine, std::int64_t uncomputed);

/// Waiting requests while budget and places are left, strictly in order: the first that cannot
/// start blocks all behind it.
void admit_waiting(EngineState& state, StepPlan& plan, std::int64_t budget);

}  // namespace roofcast

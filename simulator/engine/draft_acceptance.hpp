// How many drafts a step of speculative decoding accepts, and how long proposing them takes.
#pragma once

#include <cstdint>

#include "model/engines/engine_features.hpp"
#include "simulator/engine/batching_policy.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Number of accepted drafts out of `drafts`, for a request that has generated `generated` tokens.
/// The first n are accepted with the probability Speculation::acceptance gives for n. One number is
/// drawn per decode, from (seed, request, generated) only, so the result does not depend on which
/// engine asks or when.
std::int64_t accepted_drafts(const Speculation& speculation, std::uint64_t seed, RequestId request,
                             std::int64_t generated, std::int64_t drafts);

/// The draft model's time in a step, one pass per proposed token. 0 without drafts, and of heads
/// whose passes are part of the step's time (Speculation::timed_head).
Seconds draft_time(const Engine& engine, const StepPlan& plan);

}  // namespace roofcast

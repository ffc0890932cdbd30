// How many drafts a step of speculative decoding accepts.
#pragma once

#include <cstdint>

#include "model/engines/engine_features.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Number of accepted drafts out of `drafts`, for a request that has generated `generated` tokens.
/// The first n are accepted with the probability Speculation::acceptance gives for n. One number is
/// drawn per decode, from (seed, request, generated) only, so the result does not depend on which
/// engine asks or when.
std::int64_t accepted_drafts(const Speculation& speculation, std::uint64_t seed, RequestId request,
                             std::int64_t generated, std::int64_t drafts);

}  // namespace roofcast

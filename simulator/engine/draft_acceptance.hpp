// How many drafts a step of speculative decoding accepts.
#pragma once

#include <cstdint>

#include "model/engines/engine_features.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Of `drafts` drafts, those accepted when the request has generated `generated` tokens: the first
/// n with the chance Speculation::acceptance states for n. One number is drawn for each decode,
/// from (seed, request, generated) alone, so it does not matter which engine asks, and when.
std::int64_t accepted_drafts(const Speculation& speculation, std::uint64_t seed, RequestId request,
                             std::int64_t generated, std::int64_t drafts);

}  // namespace roofcast

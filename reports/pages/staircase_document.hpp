// What `roofcast staircase` prints.
#pragma once

#include "reports/document.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {

/// Counts with and without a cache; with a deployment also token times, and how batching and
/// speculative decoding change the cost of a token.
Document staircase_document(const StaircaseAnswer& answer);

}  // namespace roofcast

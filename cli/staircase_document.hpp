// What `roofcast staircase` answers.
#pragma once

#include "reports/document.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {

/// Counts with and without a cache; of a deployment also the times of tokens, and what batching and
/// speculative decoding do to the cost of one.
Document staircase_document(const StaircaseAnswer& answer);

}  // namespace roofcast

// Progress and cancellation of long-running questions.
#pragma once

#include <cstdint>
#include <functional>

namespace roofcast {

/// Called with the number done of `total` (requests, simulations, ...: the question says which).
/// Returning false cancels: the question then ends soon, and its answer is marked as stopped.
/// Empty: no progress, no cancelling. Called from the thread that asked.
using Progress = std::function<bool(std::int64_t done, std::int64_t total)>;

}  // namespace roofcast

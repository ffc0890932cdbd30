// Progress and cancellation of long-running work.
#pragma once

#include <cstdint>
#include <functional>

namespace roofcast {

/// Called with the number done of `total` (requests, simulations, ...: the function says which).
/// Returning false cancels: the work then ends soon, and its result is marked as stopped. Empty: no
/// progress, no cancelling. Called from the thread that asked.
using Progress = std::function<bool(std::int64_t done, std::int64_t total)>;

}  // namespace roofcast

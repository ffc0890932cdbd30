// How a question that takes long says how far it is, and how it is stopped.
#pragma once

#include <cstdint>
#include <functional>

namespace roofcast {

/// Called with what is done of `total` (requests, simulations, ...: the question says which). False
/// cancels: the question then ends soon, and its answer says that it was stopped. Empty: neither
/// shown nor cancelled. Called from the thread that asked.
using Progress = std::function<bool(std::int64_t done, std::int64_t total)>;

}  // namespace roofcast

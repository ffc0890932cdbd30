// Traces for the store: checked once, so that questions can trust them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "reports/store.hpp"

namespace roofcast {

struct TraceLimits {
  std::size_t largest_unpacked = std::size_t{32} << 20;  // bytes
  std::int64_t max_requests = 500'000;
};

/// The row of a trace named `name` whose file holds `content`, plain or gzip-compressed. Throws
/// Error naming file and line if it cannot be read, UsageError if it is beyond the limits.
StoredTrace trace_for_store(const std::string& name, const std::string& content,
                            const TraceLimits& limits);

}  // namespace roofcast

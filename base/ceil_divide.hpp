// Division of counts, rounded up.
#pragma once

#include <cstdint>

namespace roofcast {

/// The pieces of `size` that hold `count`. Precondition: count >= 0, size > 0.
constexpr std::int64_t ceil_divide(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace roofcast

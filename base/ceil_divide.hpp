// Integer division rounded up.
#pragma once

#include <cstdint>

namespace roofcast {

/// How many pieces of `size` hold `count`. Precondition: count >= 0, size > 0.
constexpr std::int64_t ceil_divide(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace roofcast

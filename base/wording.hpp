// Counts and durations as notes print them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roofcast {

/// "1 request", "19,366 requests".
std::string counted(std::int64_t number, std::string_view noun);

/// "45.4 ms", "12.3 s", "4,887 s": three digits or whole seconds.
std::string duration(double seconds);

}  // namespace roofcast

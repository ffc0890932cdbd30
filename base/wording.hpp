// Counts as sentences print them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roofcast {

/// "1 request", "19,366 requests".
std::string counted(std::int64_t number, std::string_view noun);

}  // namespace roofcast

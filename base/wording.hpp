// Counts and shares as sentences print them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roofcast {

/// "1 request", "19,366 requests".
std::string counted(std::int64_t number, std::string_view noun);

/// "80 %": kIntervalShare, of which every interval of a prediction is.
std::string interval_percent();

}  // namespace roofcast

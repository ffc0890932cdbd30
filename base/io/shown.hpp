// Text out of a file, as messages show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast {

/// Short, and plain whatever bytes it holds.
std::string shown(std::string_view text, std::size_t longest = 40);

}  // namespace roofcast

// Text from a file, as messages show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast {

/// Shortens `text` to `longest` characters and replaces bytes that are not printable.
std::string shown(std::string_view text, std::size_t longest = 40);

}  // namespace roofcast

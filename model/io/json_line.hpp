// Locates a value in a JSON text.
#pragma once

#include <cstddef>
#include <string_view>

namespace roofcast {

/// The line, from 1, on which the value at `path` ("measured.curves[3].points[5]") starts; 0 if
/// there is none. Keys are compared as written, with their escapes. Precondition: `text` is JSON.
std::size_t line_of(std::string_view text, std::string_view path);

}  // namespace roofcast

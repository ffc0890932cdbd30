// Where in a JSON text a value stands.
#pragma once

#include <cstddef>
#include <string_view>

namespace roofcast {

/// The line, from 1, on which the value at `path` begins ("measured.curves[3].points[5]"); 0 when
/// there is none. Keys are compared as they are written. Precondition: `text` is JSON.
std::size_t line_of(std::string_view text, std::string_view path);

}  // namespace roofcast

// Bytes compressed in memory (zlib, RFC 1950).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast {

std::string deflated(std::string_view bytes);

/// The `size` bytes that deflated() was given. Throws Error: "WHERE: compressed data are damaged or
/// truncated" if they are others, more or fewer.
std::string inflated(std::string_view bytes, std::size_t size, const std::string& where);

}  // namespace roofcast

// How well supported an answer is.
#pragma once

#include <string_view>

namespace roofcast {

/// Where a number comes from, best first.
enum class Provenance { measured, interpolated, extended, fitted, datasheet };

std::string_view name_of(Provenance provenance);

}  // namespace roofcast

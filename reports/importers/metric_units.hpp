// Units as result files name them beside a number.
#pragma once

#include <optional>
#include <string_view>

#include "base/io/json_reader.hpp"

namespace roofcast {

/// What one of a named unit is in this program's: seconds of "ms", "sec", "ns", "s/token" ...; 1 of
/// rates and counts, "tokens/sec", "requests", "queries/s"; 0.01 of "percent". Nothing for a unit
/// that is not known.
std::optional<double> unit_in_si(std::string_view unit);

/// The same of the unit that a figure states under `key`. Throws Error naming it where it is not
/// known.
double unit_of(const JsonReader& figure, std::string_view key);

}  // namespace roofcast

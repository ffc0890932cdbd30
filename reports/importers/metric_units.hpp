// Units that result files state next to a number.
#pragma once

#include <optional>
#include <string_view>

#include "base/io/json_reader.hpp"

namespace roofcast {

/// Factor from a named unit to ours: to seconds for "ms", "sec", "ns", "s/token" ...; 1 for rates
/// and counts such as "tokens/sec", "requests", "queries/s"; 0.01 for "percent". Returns nullopt
/// for an unknown unit.
std::optional<double> unit_in_si(std::string_view unit);

/// The same for the unit that a figure states under `key`. Throws Error naming the unit if it is
/// unknown.
double unit_of(const JsonReader& figure, std::string_view key);

}  // namespace roofcast

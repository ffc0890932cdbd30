// Parses times as written in traces.
#pragma once

#include <optional>
#include <string_view>

#include "simulator/time.hpp"
#include "simulator/workload/trace_workload.hpp"

namespace roofcast {

/// As parse_instant (base/dates.hpp).
std::optional<Nanoseconds> parse_date_time(std::string_view text);

/// Parses a decimal number of `unit`s, "3.25" or "1e3", rounded to nanoseconds; exact if written
/// without exponent. Returns nullopt for other text, and outside 0 to 7e9 s (2191 as a Unix time).
std::optional<Nanoseconds> parse_duration(std::string_view text, TraceTimeUnit unit);

/// The same in seconds.
std::optional<Nanoseconds> parse_seconds(std::string_view text);

}  // namespace roofcast

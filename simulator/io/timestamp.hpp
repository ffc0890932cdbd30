// Points in time as traces write them.
#pragma once

#include <optional>
#include <string_view>

#include "simulator/time.hpp"
#include "simulator/workload/trace_workload.hpp"

namespace roofcast {

/// "2023-11-16 18:15:46.6805900", "2024-05-12T00:00:30Z", "2024-05-12 00:00:30+00:00": date, time,
/// optional fraction (rounded to nanoseconds) and optional offset; nanoseconds since 1970 UTC, a
/// time without offset taken as UTC. Nothing for anything else, and outside 1970 to 2200.
std::optional<Nanoseconds> parse_date_time(std::string_view text);

/// A decimal number of `unit`s, "3.25" or "1e3", rounded to nanoseconds and exact when written
/// without exponent; nothing for anything else, and outside 0 to 7e9 s (the year 2191 as a Unix
/// time).
std::optional<Nanoseconds> parse_duration(std::string_view text, TraceTimeUnit unit);

/// The same in seconds.
std::optional<Nanoseconds> parse_seconds(std::string_view text);

}  // namespace roofcast

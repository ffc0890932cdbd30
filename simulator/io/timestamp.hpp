// Parses times as written in traces.
#pragma once

#include <optional>
#include <string_view>

#include "simulator/time.hpp"
#include "simulator/workload/trace_workload.hpp"

namespace roofcast {

/// Parses "2023-11-16 18:15:46.6805900", "2024-05-12T00:00:30Z", "2024-05-12 00:00:30+00:00": date,
/// time, optional fraction (rounded to nanoseconds) and optional offset (default UTC). Returns
/// nanoseconds since 1970 UTC, or nullopt for other text and for dates outside 1970 to 2200.
std::optional<Nanoseconds> parse_date_time(std::string_view text);

/// Parses a decimal number of `unit`s, "3.25" or "1e3", rounded to nanoseconds; exact if written
/// without exponent. Returns nullopt for other text, and outside 0 to 7e9 s (2191 as a Unix time).
std::optional<Nanoseconds> parse_duration(std::string_view text, TraceTimeUnit unit);

/// The same in seconds.
std::optional<Nanoseconds> parse_seconds(std::string_view text);

}  // namespace roofcast

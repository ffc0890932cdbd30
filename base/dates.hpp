// Days and times of the Gregorian calendar, in UTC.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// Removes `letter` from the front of `text`, if it is there, and returns whether it was.
bool take(std::string_view& text, char letter);

/// Removes exactly `digits` decimal digits from the front of `text` and returns their value.
/// Returns nullopt and leaves `text` unchanged if it does not start with that many.
std::optional<int> take_digits(std::string_view& text, std::size_t digits);

/// Removes a date such as "2026-11-22" (ISO 8601) from the front of `text`. Returns nullopt if
/// `text` does not start with a date; `text` is then unspecified.
std::optional<std::chrono::sys_days> take_date(std::string_view& text);

/// Parses a text that is exactly one date. Throws Error "date 'TEXT': expected ...".
std::chrono::sys_days parse_date(const std::string& text);

/// Removes ".6805900" from the front of `text` and returns billionths, rounding further digits.
/// Returns 0 if there is no point, nullopt if no digit follows it.
std::optional<std::int64_t> take_fraction(std::string_view& text);

/// Parses "2023-11-16 18:15:46.6805900", "2024-05-12T00:00:30Z", "2024-05-12 00:00:30+00:00": date,
/// time, optional fraction (rounded to nanoseconds) and optional offset (default UTC). Returns
/// nanoseconds since 1970 UTC, or nullopt for other text and for dates outside 1970 to 2200.
std::optional<std::int64_t> parse_instant(std::string_view text);

/// "2026-11-22"
std::string date_text(std::chrono::sys_days day);

/// "2026-11-22T18:15:46Z" of seconds since 1970 UTC, fractions cut off.
std::string instant_text(std::int64_t unix_s);

/// The wall clock as "2026-11-22T18:15:46Z". For provenance only; no result depends on it.
std::string utc_now();

}  // namespace roofcast

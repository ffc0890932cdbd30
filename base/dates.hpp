// Days and times of the Gregorian calendar, in UTC.
#pragma once

#include <chrono>
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

/// "2026-11-22"
std::string date_text(std::chrono::sys_days day);

/// The wall clock as "2026-11-22T18:15:46Z". For provenance only; no result depends on it.
std::string utc_now();

}  // namespace roofcast

// Days and times of the Gregorian calendar, in UTC.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// Takes exactly so many decimal digits off the front of `text`; nothing, and `text` as it was,
/// where it does not begin with them.
std::optional<int> take_digits(std::string_view& text, std::size_t digits);

/// Takes a day such as "2026-11-22" (ISO 8601) off the front of `text`; nothing where it does not
/// begin with one, and then `text` is of no use.
std::optional<std::chrono::sys_days> take_date(std::string_view& text);

/// A day and nothing else. Throws Error "date 'TEXT': expected ...".
std::chrono::sys_days parse_date(const std::string& text);

/// "2026-11-22"
std::string date_text(std::chrono::sys_days day);

/// The wall clock as "2026-11-22T18:15:46Z", for provenance only: it decides no result.
std::string utc_now();

}  // namespace roofcast

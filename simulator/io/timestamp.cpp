#include "simulator/io/timestamp.hpp"

#include <charconv>
#include <chrono>

#include "base/dates.hpp"

namespace roofcast {
namespace {

constexpr double kMaxSeconds = 7e9;
constexpr std::chrono::sys_days kFirstDay{};  // 1970-01-01
constexpr std::chrono::sys_days kLastDay =
    std::chrono::year{2200} / std::chrono::December / std::chrono::day{31};

Nanoseconds length_of(TraceTimeUnit unit) {
  switch (unit) {
    case TraceTimeUnit::seconds:
      break;
    case TraceTimeUnit::milliseconds:
      return 1'000'000;
    case TraceTimeUnit::microseconds:
      return 1'000;
    case TraceTimeUnit::nanoseconds:
      return 1;
  }
  return kSecond;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// Consumes ".6805900" and returns nanoseconds, rounding further digits. Returns 0 if there is no
/// point, nullopt if no digit follows it.
std::optional<Nanoseconds> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return 0;
  Nanoseconds fraction = 0;
  Nanoseconds unit = kSecond;
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) {
    const int digit = text[digits++] - '0';
    if (unit > 1) {
      unit /= 10;
      fraction += digit * unit;
    } else if (unit == 1) {
      fraction += digit >= 5 ? 1 : 0;
      unit = 0;
    }
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return fraction;
}

/// Parses "Z", "+02:00", "-0530", "+02" or ""; returns what to subtract to get UTC.
std::optional<Nanoseconds> parse_offset(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  const bool negative = text.front() == '-';
  if (!take(text, '-') && !take(text, '+')) return std::nullopt;
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 14) return std::nullopt;
  int minutes = 0;
  if (!text.empty()) {
    take(text, ':');
    const auto parsed = take_digits(text, 2);
    if (!parsed || *parsed > 59 || !text.empty()) return std::nullopt;
    minutes = *parsed;
  }
  const Nanoseconds offset = (Nanoseconds{*hours} * 60 + minutes) * 60 * kSecond;
  return negative ? -offset : offset;
}

/// Consumes "18:15:46" and returns seconds of the day.
std::optional<std::int64_t> take_time_of_day(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  return (std::int64_t{*hour} * 60 + *minute) * 60 + *second;
}

}  // namespace

std::optional<Nanoseconds> parse_date_time(std::string_view text) {
  const auto day = take_date(text);
  if (!day || *day < kFirstDay || *day > kLastDay) return std::nullopt;
  if (!take(text, ' ') && !take(text, 'T')) return std::nullopt;
  const auto seconds = take_time_of_day(text);
  if (!seconds) return std::nullopt;
  const auto fraction = take_fraction(text);
  const auto offset = parse_offset(text);
  if (!fraction || !offset) return std::nullopt;
  return (day->time_since_epoch().count() * std::int64_t{86'400} + *seconds) * kSecond + *fraction -
         *offset;
}

std::optional<Nanoseconds> parse_duration(std::string_view text, TraceTimeUnit unit) {
  const Nanoseconds unit_length = length_of(unit);
  const double unit_seconds = to_seconds(unit_length).value;
  double approximate = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, approximate);
  approximate *= unit_seconds;
  const bool in_range = approximate >= 0 && approximate <= kMaxSeconds;  // also false for NaN
  if (error != std::errc{} || rest != end || !in_range) return std::nullopt;
  std::int64_t whole = 0;
  const auto [after_whole, whole_error] = std::from_chars(text.data(), end, whole);
  std::string_view left(after_whole, static_cast<std::size_t>(end - after_whole));
  const auto billionths = take_fraction(left);  // of the unit
  if (whole_error != std::errc{} || !billionths || !left.empty()) {
    return to_nanoseconds(Seconds{approximate});
  }
  const Nanoseconds per_billion = kSecond / unit_length;
  return whole * unit_length + (*billionths + per_billion / 2) / per_billion;
}

std::optional<Nanoseconds> parse_seconds(std::string_view text) {
  return parse_duration(text, TraceTimeUnit::seconds);
}

}  // namespace roofcast

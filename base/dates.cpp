#include "base/dates.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <ctime>

#include "base/error.hpp"

namespace roofcast {

bool take(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int number = 0;
  for (const char letter : text.substr(0, digits)) {
    if (letter < '0' || letter > '9') return std::nullopt;
    number = number * 10 + (letter - '0');
  }
  text.remove_prefix(digits);
  return number;
}

std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  return date.ok() ? std::optional<std::chrono::sys_days>(date) : std::nullopt;
}

std::chrono::sys_days parse_date(const std::string& text) {
  std::string_view rest = text;
  const auto date = take_date(rest);
  if (!date || !rest.empty()) {
    throw Error(fmt::format("date '{}': expected a day such as 2026-11-22", text));
  }
  return *date;
}

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;  // in nanoseconds
constexpr std::chrono::sys_days kFirstDay{};     // 1970-01-01
constexpr std::chrono::sys_days kLastDay =
    std::chrono::year{2200} / std::chrono::December / std::chrono::day{31};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// Parses "Z", "+02:00", "-0530", "+02" or ""; returns what to subtract to get UTC.
std::optional<std::int64_t> parse_offset(std::string_view text) {
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
  const std::int64_t offset = (std::int64_t{*hours} * 60 + minutes) * 60 * kSecond;
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

std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return 0;
  std::int64_t fraction = 0;
  std::int64_t unit = kSecond;
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

std::optional<std::int64_t> parse_instant(std::string_view text) {
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

std::string date_text(std::chrono::sys_days day) {
  const std::chrono::year_month_day date{day};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string instant_text(std::int64_t unix_s) {
  const std::time_t instant = unix_s;
  std::tm parts{};
  gmtime_r(&instant, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

std::string utc_now() { return instant_text(std::time(nullptr)); }

}  // namespace roofcast

#include "base/dates.hpp"

#include <fmt/format.h>

#include <array>
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

std::string date_text(std::chrono::sys_days day) {
  const std::chrono::year_month_day date{day};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

}  // namespace roofcast

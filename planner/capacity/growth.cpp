#include "planner/capacity/growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"

namespace roofcast {
namespace {

constexpr double kDaysOfYear = 365.2425;
constexpr double kMonthsOfYear = 12;
constexpr double kQuartersOfYear = 4;
constexpr double kMaxGrowth = 100;  // per period: 10,000 %
constexpr int kLastYear = 9999;

struct Period {
  std::string_view name;
  double days;
};

constexpr std::array kPeriods = {
    Period{"day", 1}, Period{"week", 7}, Period{"month", kDaysOfYear / kMonthsOfYear},
    Period{"quarter", kDaysOfYear / kQuartersOfYear}, Period{"year", kDaysOfYear}};

const Period* find_period(std::string_view name) {
  const auto* found = std::find_if(kPeriods.begin(), kPeriods.end(),
                                   [&](const Period& period) { return period.name == name; });
  return found == kPeriods.end() ? nullptr : found;
}

[[noreturn]] void refuse_growth(const std::string& text) {
  throw Error(fmt::format(
      "growth '{}': expected PERCENT%/PERIOD above -100 %, the period day, week, month, quarter or "
      "year, such as 10%/month",
      text));
}

/// A date's part of so many digits and nothing else.
std::optional<int> parse_digits(std::string_view text) {
  int number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = failed == std::errc{} && end == text.data() + text.size();
  return whole && text.front() != '-' ? std::optional(number) : std::nullopt;
}

}  // namespace

Growth parse_growth(const std::string& text) {
  const std::size_t percent = text.find("%/");
  if (percent == std::string::npos || percent == 0) refuse_growth(text);
  const std::size_t sign = text[0] == '+' ? 1 : 0;
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data() + sign, text.data() + percent, number);
  const bool whole = failed == std::errc{} && end == text.data() + percent;
  const Period* period = find_period(std::string_view(text).substr(percent + 2));
  const double rate = number / 100;
  const bool possible = std::isfinite(rate) && rate > -1 && rate <= kMaxGrowth;
  if (!whole || period == nullptr || !possible) refuse_growth(text);
  return {.rate = rate, .period = std::string(period->name)};
}

std::optional<double> periods_until(double factor, const Growth& growth) {
  if (factor <= 1) return 0;
  if (growth.rate <= 0) return std::nullopt;
  return std::log(factor) / std::log1p(growth.rate);
}

double days_of(const Growth& growth) { return find_period(growth.period)->days; }

std::chrono::sys_days parse_date(const std::string& text) {
  constexpr std::size_t kLength = 10;  // YYYY-MM-DD
  const std::string_view view = text;
  if (view.size() == kLength && view[4] == '-' && view[7] == '-') {
    const auto year = parse_digits(view.substr(0, 4));
    const auto month = parse_digits(view.substr(5, 2));
    const auto day = parse_digits(view.substr(8, 2));
    if (year && month && day) {
      const std::chrono::year_month_day date{std::chrono::year{*year},
                                             std::chrono::month{static_cast<unsigned>(*month)},
                                             std::chrono::day{static_cast<unsigned>(*day)}};
      if (date.ok()) return date;
    }
  }
  throw Error(fmt::format("date '{}': expected a day such as 2026-11-22", text));
}

std::optional<std::string> date_after(std::chrono::sys_days start, double periods,
                                      const Growth& growth) {
  constexpr double kLastDays = kLastYear * kDaysOfYear;
  const double days = std::floor(periods * days_of(growth));
  if (!(days < kLastDays)) return std::nullopt;
  const std::chrono::year_month_day date{start +
                                         std::chrono::days{static_cast<std::int64_t>(days)}};
  if (static_cast<int>(date.year()) > kLastYear) return std::nullopt;
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

GrowthEnd end_of_growth(double headroom, const GrowthQuestion& question) {
  GrowthEnd end{.periods = periods_until(headroom, question.growth)};
  if (end.periods && question.from) {
    end.date = date_after(*question.from, *end.periods, question.growth);
  }
  return end;
}

}  // namespace roofcast

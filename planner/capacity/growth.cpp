#include "planner/capacity/growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/quantity.hpp"

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
  throw Error(
      fmt::format("growth '{}': expected PERCENT%/PERIOD above -100 %, with PERIOD day, week, "
                  "month, quarter or year, such as 10%/month",
                  text));
}

}  // namespace

Growth parse_growth(const std::string& text) {
  const std::size_t percent = text.find("%/");
  if (percent == std::string::npos || percent == 0) refuse_growth(text);
  const std::size_t sign = text[0] == '+' ? 1 : 0;
  const std::string_view view = text;
  const auto number = to_number<double>(view.substr(sign, percent - sign));
  const Period* period = find_period(view.substr(percent + 2));
  if (!number || period == nullptr) refuse_growth(text);
  const double rate = *number / 100;
  if (rate <= -1 || rate > kMaxGrowth) refuse_growth(text);
  return {.rate = rate, .period = std::string(period->name)};
}

std::optional<double> periods_until(double factor, const Growth& growth) {
  if (factor <= 1) return 0;
  if (growth.rate <= 0) return std::nullopt;
  return std::log(factor) / std::log1p(growth.rate);
}

double days_of(const Growth& growth) { return find_period(growth.period)->days; }

std::optional<std::string> date_after(std::chrono::sys_days start, double periods,
                                      const Growth& growth) {
  constexpr double kLastDays = kLastYear * kDaysOfYear;
  const double days = std::floor(periods * days_of(growth));
  if (!(days < kLastDays)) return std::nullopt;
  const std::chrono::sys_days end = start + std::chrono::days{static_cast<std::int64_t>(days)};
  const auto year = static_cast<int>(std::chrono::year_month_day{end}.year());
  return year > kLastYear ? std::nullopt : std::optional(date_text(end));
}

GrowthEnd end_of_growth(double headroom, const GrowthQuestion& question) {
  GrowthEnd end{.periods = periods_until(headroom, question.growth)};
  if (end.periods && question.from) {
    end.date = date_after(*question.from, *end.periods, question.growth);
  }
  return end;
}

}  // namespace roofcast

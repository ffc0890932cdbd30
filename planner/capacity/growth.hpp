// Traffic that grows at a rate: when it is so many times what it is.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace roofcast {

/// "10%/month": compound.
struct Growth {
  double rate = 0;  // share more (below 0: less) after each period
  std::string period = "month";
};

/// Reads "10%/month", "-5%/year", "2.5%/week"; periods are day, week, month, quarter and year.
/// Throws Error naming the text and the form.
Growth parse_growth(const std::string& text);

/// Periods until traffic is `factor` times what it is: ln(factor) / ln(1 + rate). 0 when the factor
/// is not above 1; nothing when traffic does not grow that far.
std::optional<double> periods_until(double factor, const Growth& growth);

/// Mean days of a period in the Gregorian calendar, whose year has 365.2425.
double days_of(const Growth& growth);

/// The last whole day before `periods` have gone by from `start`; nothing beyond the year 9999.
std::optional<std::string> date_after(std::chrono::sys_days start, double periods,
                                      const Growth& growth);

/// Growth that was asked about.
struct GrowthQuestion {
  Growth growth{};
  std::optional<std::chrono::sys_days> from{};  // the day it begins, where one is given
};

/// When traffic that grows is more than there is room for.
struct GrowthEnd {
  std::optional<double> periods{};    // unset: never
  std::optional<std::string> date{};  // where the question has a day to begin with
};

/// `headroom`: how many times the traffic there is room for.
GrowthEnd end_of_growth(double headroom, const GrowthQuestion& question);

}  // namespace roofcast

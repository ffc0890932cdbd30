// Traffic that grows at a rate: when it reaches a multiple of today's.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace roofcast {

/// "10%/month": compound.
struct Growth {
  double rate = 0;  // share added per period (below 0: lost)
  std::string period = "month";
};

/// Reads "10%/month", "-5%/year", "2.5%/week"; periods are day, week, month, quarter and year.
/// Throws Error naming the text and the expected form.
Growth parse_growth(const std::string& text);

/// Periods until traffic is `factor` times today's: ln(factor) / ln(1 + rate). 0 if the factor is
/// at most 1; nullopt if traffic never grows that far.
std::optional<double> periods_until(double factor, const Growth& growth);

/// Mean days per period in the Gregorian calendar, whose year has 365.2425.
double days_of(const Growth& growth);

/// The last whole day before `periods` have passed since `start`; nullopt beyond the year 9999.
std::optional<std::string> date_after(std::chrono::sys_days start, double periods,
                                      const Growth& growth);

/// The growth of the asked load.
struct GrowthQuestion {
  Growth growth{};
  std::optional<std::chrono::sys_days> from{};  // start date, if given
};

/// When growing traffic exceeds the headroom.
struct GrowthEnd {
  std::optional<double> periods{};    // unset: never
  std::optional<std::string> date{};  // set if the question has a start date
};

/// `headroom`: capacity / current traffic.
GrowthEnd end_of_growth(double headroom, const GrowthQuestion& question);

}  // namespace roofcast

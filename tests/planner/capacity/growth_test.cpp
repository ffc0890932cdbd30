#include "planner/capacity/growth.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/dates.hpp"
#include "base/error.hpp"

namespace roofcast::test {
namespace {

using std::chrono::sys_days;

TEST(Growth, ReadsSharesAndPeriods) {
  EXPECT_DOUBLE_EQ(parse_growth("10%/month").rate, 0.1);
  EXPECT_DOUBLE_EQ(parse_growth("+2.5%/week").rate, 0.025);
  EXPECT_DOUBLE_EQ(parse_growth("-5%/year").rate, -0.05);
  EXPECT_EQ(parse_growth("1%/quarter").period, "quarter");
}

TEST(Growth, RefusesWhatIsNoGrowth) {
  for (const char* text :
       {"", "10", "10%", "10%/", "%/month", "10/month", "10%/fortnight", "ten%/month", "nan%/month",
        "inf%/month", "-100%/month", "1e9%/day", "10%/month ", "++1%/day", "10 %/month"}) {
    EXPECT_THROW(parse_growth(text), Error) << text;
  }
}

TEST(Growth, CompoundsUntilTheFactorIsReached) {
  const Growth growth{.rate = 0.1, .period = "month"};
  EXPECT_NEAR(periods_until(std::pow(1.1, 6), growth).value(), 6, 1e-12);
  EXPECT_EQ(periods_until(1, growth), 0);
  EXPECT_EQ(periods_until(0.5, growth), 0);
}

TEST(Growth, TrafficThatDoesNotGrowNeverGetsThere) {
  EXPECT_FALSE(periods_until(2, {.rate = 0}));
  EXPECT_FALSE(periods_until(2, {.rate = -0.05}));
}

TEST(Growth, AMeanYearLaterIsTheSameDay) {
  // 365.2425 days, of which 365 are over; 2027 has no 29 February before it.
  const sys_days start = parse_date("2026-11-22");
  EXPECT_EQ(date_after(start, 12, {.rate = 0.1, .period = "month"}), "2027-11-22");
  EXPECT_EQ(date_after(start, 1, {.rate = 0.1, .period = "year"}), "2027-11-22");
  EXPECT_EQ(date_after(start, 2, {.rate = 0.1, .period = "week"}), "2026-12-06");
  EXPECT_EQ(date_after(start, 1.9, {.rate = 0.1, .period = "day"}), "2026-11-23");
}

TEST(Growth, DatesEndWithFourDigitYears) {
  const sys_days start = parse_date("2026-11-22");
  EXPECT_FALSE(date_after(start, 9000, {.rate = 0.1, .period = "year"}));
  EXPECT_FALSE(date_after(start, INFINITY, {.rate = 0.1, .period = "year"}));
}

TEST(Growth, EndsOnADayOnlyWhereItBeginsOnOne) {
  const GrowthQuestion question{.growth = {.rate = 1, .period = "week"}};
  EXPECT_DOUBLE_EQ(end_of_growth(8, question).periods.value(), 3);  // three doublings
  EXPECT_FALSE(end_of_growth(8, question).date);
  const GrowthQuestion dated{.growth = question.growth, .from = parse_date("2026-11-22")};
  EXPECT_EQ(end_of_growth(4, dated).date, "2026-12-06");  // two weeks
}

TEST(Growth, RefusesDaysThatAreNone) {
  for (const char* text : {"", "2026-11-31", "2026-02-29", "2026-1-1", "22.11.2026", "2026-11-22x",
                           "2026/11/22", "-026-11-22", "2026--1-22"}) {
    EXPECT_THROW(parse_date(text), Error) << text;
  }
  EXPECT_NO_THROW(parse_date("2028-02-29"));
}

}  // namespace
}  // namespace roofcast::test

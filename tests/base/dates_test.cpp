#include "base/dates.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace roofcast {
namespace {

TEST(Dates, ADayIsTakenOffTheFront) {
  std::string_view text = "1970-03-01T12:00";
  const auto day = take_date(text);
  ASSERT_TRUE(day);
  EXPECT_EQ(day->time_since_epoch().count(), 59);  // 31 + 28 days
  EXPECT_EQ(text, "T12:00");
}

TEST(Dates, DaysThatDoNotExistAreRefused) {
  EXPECT_NO_THROW(parse_date("2024-02-29"));
  for (const char* text : {"2023-02-29", "2026-13-01", "2026-00-10", "2026-04-31", "2026-4-1",
                           "26-04-01", "2026-04-01 ", "-026-04-01", "2026/04/01", ""}) {
    EXPECT_THROW(parse_date(text), Error) << text;
  }
}

TEST(Dates, ADayIsWrittenAsItIsRead) {
  for (const char* text : {"0001-01-01", "1999-12-31", "2026-11-22"}) {
    EXPECT_EQ(date_text(parse_date(text)), text);
  }
}

TEST(Dates, DigitsAreTakenOnlyWhereAllAreThere) {
  std::string_view text = "12a";
  EXPECT_FALSE(take_digits(text, 3));
  EXPECT_EQ(text, "12a");
  EXPECT_EQ(take_digits(text, 2), 12);
  EXPECT_EQ(text, "a");
}

}  // namespace
}  // namespace roofcast

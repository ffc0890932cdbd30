#include "base/quantity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;

/// The message of the UsageError that `call` throws, or "" if it throws none.
std::string complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::string count_complaint(const std::string& text, const CountRule& rule = {}) {
  return complaint([&] { parse_count_by(rule, text, "--n"); });
}

TEST(ParseCount, SmallLettersAreDecimalAndCapitalsBinary) {
  EXPECT_EQ(parse_count("8192", "--n"), 8192);
  EXPECT_EQ(parse_count("1k", "--n"), 1000);
  EXPECT_EQ(parse_count("1K", "--n"), 1024);
  EXPECT_EQ(parse_count("16Ki", "--n"), 16384);
  EXPECT_EQ(parse_count("2m", "--n"), 2'000'000);
  EXPECT_EQ(parse_count("2M", "--n"), 2'097'152);
  EXPECT_EQ(parse_count("1g", "--n"), 1'000'000'000);
  EXPECT_EQ(parse_count("1Ti", "--n"), 1'099'511'627'776);
}

TEST(ParseCount, FractionsAreTakenWhenTheProductIsWhole) {
  EXPECT_EQ(parse_count("25.6k", "--n"), 25600);
  EXPECT_EQ(parse_count("1.5K", "--n"), 1536);
  EXPECT_EQ(parse_count("4.0", "--n"), 4);
  EXPECT_EQ(parse_count("1e6", "--n"), 1'000'000);
  EXPECT_EQ(parse_count("0.001k", "--n"), 1);
  EXPECT_NE(count_complaint("1.2345"), "");
  EXPECT_NE(count_complaint("1.0005k"), "");  // 1000.5
}

TEST(ParseCount, KeepsEveryDigitOfLargeNumbers) {
  // 2^53 + 1 has no double.
  EXPECT_EQ(parse_count("9007199254740993", "--n"), 9007199254740993);
  EXPECT_EQ(parse_count("9223372036854775807", "--n"), 9223372036854775807);
  EXPECT_NE(count_complaint("9223372036854775808"), "");
  EXPECT_NE(count_complaint("9223372036854775807k"), "");
  EXPECT_NE(count_complaint("1e30"), "");
  EXPECT_NE(count_complaint("1e999"), "");
}

TEST(ParseCount, NamesTheFlagTheTextAndAnExample) {
  EXPECT_EQ(complaint([] { parse_token_count("12x", "--max-model-len"); }),
            "--max-model-len: '12x' is not a number of tokens (try 8192, 16k)");
}

TEST(ParseCount, RefusesWhatIsNotWhollyANumber) {
  for (const char* text : {"", " 8", "8 ", "8 k", "k", "-", "--8", "+8", "0x10", "1,000", "1k5",
                           "1kk", "inf", "nan", "8\n", "1e", ".", "eight", "1KiB"}) {
    EXPECT_NE(count_complaint(text), "") << "'" << text << "'";
  }
}

TEST(ParseCount, RefusesWhatIsOutsideTheCallersRange) {
  EXPECT_EQ(count_complaint("-3"), "--n: '-3' must be at least 0");
  EXPECT_EQ(count_complaint("0", {.min = 1}), "--n: '0' must be at least 1");
  EXPECT_EQ(count_complaint("5k", {.max = 4096}), "--n: '5k' must be at most 4096");
  EXPECT_EQ(parse_count_by({.min = -5}, "-3", "--n"), -3);
}

TEST(ToNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(to_number<int>("-12"), -12);
  EXPECT_EQ(to_number<std::int64_t>("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(to_number<std::uint64_t>("18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(to_number<double>("2.5e-1"), 0.25);
  for (const char* text : {"", " 1", "1 ", "+1", "1.5", "1k", "2147483648", "x"}) {
    EXPECT_EQ(to_number<int>(text), std::nullopt) << "'" << text << "'";
  }
  EXPECT_EQ(to_number<std::uint64_t>("-1"), std::nullopt);
  for (const char* text : {"", "1x", "inf", "nan", "1e999", "1,5"}) {
    EXPECT_EQ(to_number<double>(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(Amount, MayHaveAFractionAndTheSuffixesOfCounts) {
  EXPECT_EQ(amount_in("0.5"), 0.5);
  EXPECT_EQ(amount_in("1.0005k"), 1000.5);
  EXPECT_EQ(amount_in("-1Ki"), -1024);
  EXPECT_EQ(amount_in("1 k"), std::nullopt);
}

TEST(Amount, IsTakenOffTheFrontOfARange) {
  std::string_view range = "1Ki-8k*2";
  EXPECT_EQ(take_amount(range), 1024);
  EXPECT_EQ(range, "-8k*2");
  EXPECT_EQ(take_amount(range), std::nullopt);  // a sign is not an amount
  range.remove_prefix(1);
  EXPECT_EQ(take_amount(range), 8000);
  EXPECT_EQ(range, "*2");
}

TEST(ParseBytes, KnowsDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("80GB", "--m"), Bytes{80e9});
  EXPECT_EQ(parse_bytes("80gb", "--m"), Bytes{80e9});
  EXPECT_EQ(parse_bytes("80g", "--m"), Bytes{80e9});
  EXPECT_EQ(parse_bytes("80GiB", "--m"), Bytes{85899345920.0});  // 80 x 1,073,741,824
  EXPECT_EQ(parse_bytes("80G", "--m"), Bytes{85899345920.0});
  EXPECT_EQ(parse_bytes("512MiB", "--m"), Bytes{536870912.0});
  EXPECT_EQ(parse_bytes("1.5kB", "--m"), Bytes{1500});
  EXPECT_EQ(parse_bytes("25250627584", "--m"), Bytes{25250627584.0});
  EXPECT_EQ(parse_bytes("4096B", "--m"), Bytes{4096});
}

TEST(ParseBytes, RefusesBitsNegativesAndNonsense) {
  EXPECT_THAT(complaint([] { parse_bytes("80Gb", "--m"); }), HasSubstr("'80Gb' is not a size"));
  EXPECT_EQ(complaint([] { parse_bytes("-1GB", "--m"); }), "--m: '-1GB' must be at least 0");
  EXPECT_NE(complaint([] { parse_bytes("GB", "--m"); }), "");
  EXPECT_NE(complaint([] { parse_bytes("inf", "--m"); }), "");
}

TEST(ParseTime, KnowsItsUnits) {
  EXPECT_EQ(parse_time("500ms", "--t"), Seconds{0.5});
  EXPECT_EQ(parse_time("0.5s", "--t"), Seconds{0.5});
  EXPECT_EQ(parse_time("2us", "--t"), Seconds{2e-6});
  EXPECT_EQ(parse_time("2\xC2\xB5s", "--t"), Seconds{2e-6});
  EXPECT_EQ(parse_time("7ns", "--t"), Seconds{7e-9});
  EXPECT_EQ(parse_time("3m", "--t"), Seconds{180});
  EXPECT_EQ(parse_time("3min", "--t"), Seconds{180});
  EXPECT_EQ(parse_time("1h", "--t"), Seconds{3600});
  EXPECT_EQ(parse_time("2d", "--t"), Seconds{172800});
}

TEST(ParseTime, KnowsTheWordsOfResultFiles) {
  EXPECT_EQ(time_unit_in("milliseconds"), 1e-3);
  EXPECT_EQ(time_unit_in("sec"), 1);
  EXPECT_EQ(time_unit_in("tokens"), std::nullopt);
}

TEST(ParseTime, ABareNumberMayBeRefused) {
  EXPECT_EQ(time_in("2", BareTime::refused), std::nullopt);
  EXPECT_EQ(time_in("2s", BareTime::refused), Seconds{2});
  EXPECT_EQ(time_in("2", BareTime::milliseconds), Seconds{2e-3});
}

TEST(ParseTime, ReadsABareNumberInTheUnitOfTheFlag) {
  const TimeRule goodput{.bare = BareTime::milliseconds};
  EXPECT_EQ(parse_time("500", "--t"), Seconds{500});
  EXPECT_EQ(parse_time_by(goodput, "500", "--goodput"), Seconds{0.5});
  EXPECT_EQ(parse_time_by(goodput, "2s", "--goodput"), Seconds{2});
}

TEST(ParseTime, IsInfiniteOnlyWhereTheFlagAllowsIt) {
  EXPECT_TRUE(std::isinf(parse_time_by({.allow_infinite = true}, "inf", "--t").value));
  EXPECT_NE(complaint([] { parse_time("inf", "--t"); }), "");
  EXPECT_EQ(complaint([] { parse_time("-1s", "--t"); }), "--t: '-1s' must be at least 0");
  EXPECT_EQ(complaint([] { parse_time("5 parsecs", "--t"); }),
            "--t: '5 parsecs' is not a time (try 2, 0.5s, 500ms)");
}

TEST(ParseRate, IsPerSecondAndMayBeInfinite) {
  EXPECT_DOUBLE_EQ(parse_rate("10", "--request-rate"), 10);
  EXPECT_DOUBLE_EQ(parse_rate("2.5/s", "--request-rate"), 2.5);
  EXPECT_DOUBLE_EQ(parse_rate("600/min", "--request-rate"), 10);
  EXPECT_DOUBLE_EQ(parse_rate("3600/h", "--request-rate"), 1);
  EXPECT_TRUE(std::isinf(parse_rate("inf", "--request-rate")));
  EXPECT_EQ(complaint([] { parse_rate("0", "--request-rate"); }),
            "--request-rate: '0' must be above 0");
  EXPECT_NE(complaint([] { parse_rate("fast", "--request-rate"); }), "");
}

TEST(ParseShare, TakesAShareOrPercent) {
  EXPECT_EQ(parse_share("0.9", "--u"), 0.9);
  EXPECT_EQ(parse_share("90%", "--u"), 0.9);
  EXPECT_EQ(parse_share("95%", "--u"), 0.95);  // 95 x 0.01 would be another double
  EXPECT_EQ(parse_share("100%", "--u"), 1.0);
  EXPECT_EQ(complaint([] { parse_share("90", "--u"); }),
            "--u: '90' must be between 0 and 1, or 0% and 100%");
  EXPECT_NE(complaint([] { parse_share("-1%", "--u"); }), "");
}

TEST(ParseNumber, KeepsToItsRange) {
  EXPECT_EQ(parse_number_by({}, "-2.5e3", "--x"), -2500);
  EXPECT_EQ(complaint([] { parse_number_by({.min = 0.5, .max = 2}, "0.25", "--x"); }),
            "--x: '0.25' must be at least 0.5");
  EXPECT_EQ(complaint([] { parse_number_by({.min = 0.5, .max = 2}, "3", "--x"); }),
            "--x: '3' must be at most 2");
  EXPECT_EQ(complaint([] { parse_number_by({.what = "price", .examples = "2.49"}, "$2", "--x"); }),
            "--x: '$2' is not a price (try 2.49)");
  EXPECT_NE(complaint([] { parse_number_by({}, "nan", "--x"); }), "");
}

}  // namespace
}  // namespace roofcast

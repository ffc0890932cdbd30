// The bounded parser against the library's own: the same values and errors, except for what it
// rejects.
#include "base/io/bounded_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace roofcast::test {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

TEST(BoundedJson, ReadsWhatTheLibraryReads) {
  for (const char* text :
       {"null", "true", "-7", "18446744073709551615", "0.1", "1e-300", "\"\"", "[]", "{}",
        R"("a \u00e9 \ud83d\ude00 \n")", R"([1, [2, [], {"a": [3]}], -4.5, "x", null, false])",
        R"({"b": {"c": [{"d": 1}, {"d": {}}], "e": 2}, "a": [[[]]], "f": ""})",
        R"({"same": 1, "other": 2, "same": [3]})"}) {
    EXPECT_EQ(parse_bounded<Json>(std::string(text), "t"), Json::parse(text)) << text;
    EXPECT_EQ(parse_bounded<OrderedJson>(std::string(text), "t").dump(),
              OrderedJson::parse(text).dump())
        << text;
  }
}

TEST(BoundedJson, ReadsStreams) {
  std::istringstream stream(R"({"rows": [1, 2]})");
  EXPECT_EQ(parse_bounded<Json>(stream, "t"), Json::parse(R"({"rows": [1, 2]})"));
}

TEST(BoundedJson, ThrowsWhatTheLibraryThrows) {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "\"\x01\"", "\"\xff\"", "1e999"}) {
    std::string expected;
    try {
      [[maybe_unused]] const Json value = Json::parse(text);
    } catch (const Json::exception& error) {
      expected = error.what();
    }
    ASSERT_NE(expected, "") << text;
    try {
      parse_bounded<Json>(std::string(text), "t");
      ADD_FAILURE() << text;
    } catch (const Json::parse_error& error) {
      EXPECT_EQ(error.what(), expected) << text;
    } catch (const Json::out_of_range& error) {
      EXPECT_EQ(error.what(), expected) << text;
    }
  }
}

TEST(BoundedJson, ASecondKeyIsRefusedWhereItWouldWinInSilence) {
  const auto refused = [](const std::string& text) {
    return [text] { parse_bounded<Json>(text, "f.json", RepeatedKeys::refused); };
  };
  EXPECT_THAT(refused(R"({"a": {"b": 1}, "c": [{"b": 1, "d": 2, "b": 3}]})"),
              testing::ThrowsMessage<Error>("f.json: key 'b' is given twice in one object"));
  EXPECT_THAT(refused("{\"\x7f\xc3\xa4\": 1, \"\x7f\xc3\xa4\": 1}"),
              testing::ThrowsMessage<Error>("f.json: key '?\?\?' is given twice in one object"));
  EXPECT_NO_THROW(refused(R"({"a": {"b": 1}, "b": [{"b": 1}, {"b": 3}]})")());
}

TEST(BoundedJson, NestsAsDeepAsItMayAndNoDeeper) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + "1" + std::string(levels, ']');
  };
  EXPECT_EQ(parse_bounded<Json>(nested(kDeepestJson), "t"), Json::parse(nested(kDeepestJson)));
  EXPECT_THAT([&] { parse_bounded<Json>(nested(kDeepestJson + 1), "t"); },
              testing::ThrowsMessage<Error>("t: nested deeper than 64 levels"));
  EXPECT_THROW(parse_bounded<Json>(std::string(1'000'000, '['), "t"), Error);
}

}  // namespace
}  // namespace roofcast::test

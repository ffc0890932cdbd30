#include "base/io/json_reason.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace roofcast {
namespace {

std::string problem(const std::string& text) {
  try {
    [[maybe_unused]] const auto read = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return json_problem(error.what());
  }
  return "is JSON";
}

TEST(JsonReason, SaysInOurWordsWhatIsWrongAndWhere) {
  EXPECT_EQ(problem("{\"model\": \"m\", \"gpu\": }"),
            "line 1, column 23: unexpected '}', expected a value");
  EXPECT_EQ(problem("{\n\"a\" \"b\"}"),
            "line 2, column 7: unexpected text in quotes, expected ':'");
  EXPECT_EQ(problem("{bad"), "line 1, column 2: cannot read '{b', expected a key in quotes");
  EXPECT_EQ(problem("[1, 2"), "line 1, column 6: the text ends too early, expected ',' or ']'");
  EXPECT_EQ(problem("{} x"), "line 1, column 4: cannot read '{} x', expected the end of the text");
}

TEST(JsonReason, NamesNumbersThatAreTooLarge) {
  EXPECT_EQ(problem("[1e999]"), "too large a number, '1e999'");
}

TEST(JsonReason, IsPrintableAndShort) {
  const std::string long_text = problem("[\"" + std::string(1000, 'x') + "\x01");
  EXPECT_LE(long_text.size(), 200U);
  for (const char c : long_text) EXPECT_TRUE(c >= ' ' && c <= '~');
}

}  // namespace
}  // namespace roofcast

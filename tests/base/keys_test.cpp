#include "base/keys.hpp"

#include <gtest/gtest.h>

namespace roofcast {
namespace {

std::string in_brackets(std::string_view message) {
  return with_keys(message, [](std::string_view key) { return "<" + std::string(key) + ">"; });
}

TEST(Keys, AreSpelledByTheFace) {
  EXPECT_EQ(in_brackets("`model` is missing"), "<model> is missing");
  EXPECT_EQ(in_brackets("give `meta` gpu=2 or `p95_s`"), "give <meta> gpu=2 or <p95_s>");
}

TEST(Keys, OtherQuotesStayAsTheyAre) {
  for (const char* text :
       {"", "`", "``", "a name from `roofcast models`", "`Model`", "`1x`", "`model"}) {
    EXPECT_EQ(in_brackets(text), text);
  }
}

}  // namespace
}  // namespace roofcast

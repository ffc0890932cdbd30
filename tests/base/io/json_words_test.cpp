#include "base/io/json_words.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

/// `text` read in pieces of `size` bytes.
std::string replaced(const std::string& text, std::size_t size) {
  JsonWords words;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += size) words.append(text.substr(i, size), out);
  words.finish(out);
  return out;
}

TEST(JsonWords, NumbersThatJsonDoesNotHaveBecomeNullWhereverThePiecesEnd) {
  const std::string text =
      R"({"a": NaN, "b": [Infinity, -Infinity,-1,1e-5], "c": true, "NaN": "NaN \" Infinity\\", "d": null})";
  const std::string expected =
      R"({"a": null, "b": [null, null,-1,1e-5], "c": true, "NaN": "NaN \" Infinity\\", "d": null})";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    EXPECT_EQ(replaced(text, size), expected) << size;
  }
}

TEST(JsonWords, NumbersThatJsonDoesNotHaveBecomeTextsWhereThatIsAskedFor) {
  JsonWords words(NumberWords::become_texts);
  std::string out;
  words.append(R"([NaN, -Infinity, "NaN"])", out);
  words.finish(out);
  EXPECT_EQ(out, R"(["NaN", "-Infinity", "NaN"])");
}

TEST(JsonWords, OtherWordsStayAsTheyAre) {
  for (const char* text : {"-", "Infinit", "InfinityNaN", "nan", "x", "truefalsenull", ""}) {
    EXPECT_EQ(replaced(text, 2), text);
  }
}

}  // namespace
}  // namespace roofcast::test

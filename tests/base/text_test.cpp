#include "base/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace roofcast {
namespace {

using testing::ElementsAre;

TEST(Text, OnlyAsciiLettersHaveACase) {
  EXPECT_EQ(lower("Bearer A-1"), "bearer a-1");
  EXPECT_EQ(upper("no-evict 1"), "NO-EVICT 1");
  EXPECT_EQ(upper("\xC3\xA4"), "\xC3\xA4");
  EXPECT_EQ(lower("\xC3\x84"), "\xC3\x84");  // U+00C4 in UTF-8, as it was
}

TEST(Text, BlanksAreTrimmedAtBothEndsOnly) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(trimmed("==a=b=", "="), "a=b");
}

TEST(Text, AByteOrderMarkIsTakenOffTheFrontAlone) {
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBF{}"), "{}");
  EXPECT_EQ(without_byte_order_mark("{\xEF\xBB\xBF}"), "{\xEF\xBB\xBF}");
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB"), "\xEF\xBB");
}

TEST(Text, SplittingKeepsEmptyParts) {
  EXPECT_THAT(split("a::b", ':'), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("a:", ':'), ElementsAre("a", ""));
  EXPECT_THAT(split("", ':'), ElementsAre(""));
}

TEST(Text, TheLastAlternativeComesAfterOr) {
  const std::vector<std::string_view> names{"a", "b", "c"};
  EXPECT_EQ(alternatives(names), "a, b or c");
  EXPECT_EQ(alternatives(std::span(names).first(2)), "a or b");
  EXPECT_EQ(alternatives(std::span(names).first(1)), "a");
  EXPECT_EQ(alternatives({}), "");
}

TEST(Text, SeparatorsStandBetweenParts) {
  const std::vector<std::string> parts{"a", "", "c"};
  EXPECT_EQ(joined(parts), "a, , c");
  EXPECT_EQ(joined(parts, "+"), "a++c");
  EXPECT_EQ(joined({}), "");
}

TEST(Text, AShellReadsAQuotedWordAsTheWord) {
  EXPECT_EQ(shell_quoted("--model=/models/a-1.5_b@v,c:d+e%"), "--model=/models/a-1.5_b@v,c:d+e%");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

TEST(Text, NamesAreComparedByLettersAndDigits) {
  EXPECT_EQ(letters_and_digits("Qwen/Qwen2.5-7B"), "qwenqwen257b");
}

TEST(Text, ASlugHasNoSeparatorAtItsEnds) {
  EXPECT_EQ(slug("NVIDIA H100 80GB (SXM)"), "nvidia-h100-80gb-sxm");
  EXPECT_EQ(slug("/a//b/", '_'), "a_b");
  EXPECT_EQ(slug("..."), "");
}

TEST(Text, AReleaseIsTheFrontOfAVersion) {
  EXPECT_EQ(release_of("v0.11.1rc2.dev3+g1a2b"), "0.11.1");
  EXPECT_EQ(release_of("0.11.0-cu129"), "0.11.0");
  EXPECT_EQ(release_of("0.5."), "0.5");
  EXPECT_EQ(release_of("latest"), "");
  EXPECT_EQ(release_of(""), "");
}

TEST(Text, ATimeEndsInSecondsButIsNotARate) {
  EXPECT_TRUE(is_time("ttft_s"));
  EXPECT_FALSE(is_time("request_rate_per_s"));
  EXPECT_FALSE(is_time("preemptions"));
}

}  // namespace
}  // namespace roofcast

#include "validate/manifest_formula.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

/// isl 1000, conc 24, "a b" 3; "empty" is empty.
std::optional<double> column(const std::string& name) {
  if (name == "isl") return 1000;
  if (name == "conc") return 24;
  if (name == "a b") return 3;
  if (name == "empty") return std::nullopt;
  throw Error("no column " + name);
}

std::optional<double> value(const std::string& formula) {
  return formula_value(formula, column, "runs.csv, line 2");
}

std::string refusal(const std::string& formula) {
  try {
    value(formula);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ManifestFormula, FollowsTheOrderOfOperations) {
  EXPECT_EQ(value("isl + 512"), 1512);
  EXPECT_EQ(value("2 + 3 * 4 - 6 / 2"), 11);
  EXPECT_EQ(value("(2 + 3) * -4"), -20);
  EXPECT_EQ(value("10 - 4 - 3"), 3);  // from left to right
  EXPECT_EQ(value("16 / 4 / 2"), 2);
  EXPECT_EQ(value(" 'a b' * 1.5 "), 4.5);
}

TEST(ManifestFormula, Rounds) {
  // 64 ceil(1088 / 64) = 64 x 17.
  EXPECT_EQ(value("64 * ceil((conc + isl + 64) / 64)"), 1088);
  EXPECT_EQ(value("64 * ceil((conc + isl + 65) / 64)"), 1152);
  EXPECT_EQ(value("floor(0.8 * 1023)"), 818);
  EXPECT_EQ(value("round(2.5)"), 3);
  EXPECT_EQ(value("max(8192, isl, conc)"), 8192);
  EXPECT_EQ(value("min(isl, conc)"), 24);
}

TEST(ManifestFormula, AnEmptyColumnLeavesNothing) {
  EXPECT_EQ(value("isl + empty"), std::nullopt);
  EXPECT_THAT(refusal("empty +"), HasSubstr("expected a number"));  // but errors are still found
}

TEST(ManifestFormula, SaysWhatItExpectedAndWhere) {
  EXPECT_THAT(refusal("isl +"), HasSubstr("runs.csv, line 2: formula 'isl +', at character 6: "
                                          "expected a number, a column or '('"));
  EXPECT_THAT(refusal("isl 2"), HasSubstr("at character 5: expected an operator"));
  EXPECT_THAT(refusal("(isl"), HasSubstr("expected ')'"));
  EXPECT_THAT(refusal("1.2.3"), HasSubstr("at character 1: expected a number"));
  EXPECT_THAT(refusal("sqrt(2)"), HasSubstr("expected ceil, floor or round of one value"));
  EXPECT_THAT(refusal("ceil(1, 2)"), HasSubstr("expected ceil"));
  EXPECT_THAT(refusal("1 / (isl - 1000)"), HasSubstr("expected a finite result"));
  EXPECT_THAT(refusal("'isl"), HasSubstr("expected a closing quote"));
  EXPECT_THAT(refusal("osl + 1"), HasSubstr("no column osl"));
  EXPECT_THAT(refusal(std::string(300, '(')), HasSubstr("expected fewer parentheses"));
}

}  // namespace
}  // namespace roofcast::test

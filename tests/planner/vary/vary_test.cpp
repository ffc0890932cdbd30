#include "planner/vary/vary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace roofcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = RelativeChange::Kind;

std::vector<std::string> values_of(const std::string& text) {
  return parse_knob(text, "--vary").values;
}

std::string refusal_of(const std::string& text) {
  try {
    parse_knob(text, "--vary");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Vary, AListStandsForItself) {
  EXPECT_THAT(values_of("gpu=h100,l40s,a100-80gb"), ElementsAre("h100", "l40s", "a100-80gb"));
  EXPECT_THAT(values_of("engine=vllm-0.19,sglang"), ElementsAre("vllm-0.19", "sglang"));
  EXPECT_THAT(values_of("input_len=lognormal:800:0.9"), ElementsAre("lognormal:800:0.9"));
}

TEST(Vary, ARangeEndsAtOrBeforeItsHighEnd) {
  EXPECT_THAT(values_of("x=1-10+3"), ElementsAre("1", "4", "7", "10"));
  EXPECT_THAT(values_of("x=1-10+4"), ElementsAre("1", "5", "9"));
  EXPECT_THAT(values_of("x=1-10*2"), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(values_of("x=1-1000*10"), ElementsAre("1", "10", "100", "1000"));
  EXPECT_THAT(values_of("x=5-5+1"), ElementsAre("5"));
}

TEST(Vary, RangesOfDecimalsAreNotOffByTheirRounding) {
  // 3 * 0.1 is above 0.3 in binary, and 0.7 / 0.1 below 7.
  EXPECT_THAT(values_of("x=0.1-0.3+0.1"), ElementsAre("0.1", "0.2", "0.3"));
  EXPECT_EQ(values_of("x=0.1-0.8+0.1").size(), 8U);
}

TEST(Vary, RangesTakeSuffixesAndStandBesideOtherValues) {
  EXPECT_THAT(values_of("x=1k-4k*2,16K"), ElementsAre("1000", "2000", "4000", "16K"));
  EXPECT_THAT(values_of("x=1e3-3e3+1e3"), ElementsAre("1000", "2000", "3000"));
}

TEST(Vary, ValuesAloneHaveTheSameGrammar) {
  EXPECT_THAT(parse_values("1-8*2,3k", "--batch"), ElementsAre("1", "2", "4", "8", "3k"));
  try {
    parse_values("1-8", "--batch");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--batch: '1-8' has a range without a step, expected for example 1-8+1 or 1-8*2");
  }
}

TEST(Vary, KeysAreSpelledAsFlagsOrAsInScenarios) {
  EXPECT_EQ(parse_knob("--max-num-seqs=8", "--vary").key, "max_num_seqs");
  EXPECT_EQ(parse_knob("cluster.pools.0.replicas=2", "--vary").key, "cluster.pools.0.replicas");
}

TEST(Vary, CommasInBracketsAndQuotesBelongToTheValue) {
  EXPECT_THAT(values_of("a=[0.8,0.6],[0.5]"), ElementsAre("[0.8,0.6]", "[0.5]"));
  EXPECT_THAT(values_of(R"(a={"x": 1, "y": "],"},2)"), ElementsAre(R"({"x": 1, "y": "],"})", "2"));
}

TEST(Vary, RangesThatNeverEndAreRefused) {
  EXPECT_THAT(refusal_of("x=1-10+0"), HasSubstr("endless range"));
  EXPECT_THAT(refusal_of("x=1-10*1"), HasSubstr("endless range"));
  EXPECT_THAT(refusal_of("x=1-10*0.5"), HasSubstr("endless range"));
  EXPECT_THAT(refusal_of("x=0-10*2"), HasSubstr("endless range"));
  EXPECT_THAT(refusal_of("x=10-1+1"), HasSubstr("backwards"));
  EXPECT_THAT(refusal_of("x=1-10"), HasSubstr("without a step"));
  EXPECT_THAT(refusal_of("x=1-10+"), HasSubstr("not a number"));
  EXPECT_THAT(refusal_of("x=1-10+1h100"), HasSubstr("not a number"));
}

TEST(Vary, MoreValuesThanAnybodyReadsAreRefusedBeforeTheyAreMade) {
  EXPECT_THAT(refusal_of("x=0-1e9+1"), HasSubstr("more than 1000"));
  EXPECT_THAT(refusal_of("x=0-1e308+1e-308"), HasSubstr("more than 1000"));
  EXPECT_THAT(refusal_of("x=1-1e300*1.0000001"), HasSubstr("more than 1000"));
  EXPECT_THAT(refusal_of("x=" + std::string(20'000, '1')), HasSubstr("20002 characters"));
}

TEST(Vary, WhatIsNoAssignmentIsRefused) {
  for (const char* text : {"", "=", "x", "x=", "=1", "--=1", "x=,", "x=1,,2"}) {
    EXPECT_NE(refusal_of(text), "") << text;
  }
  EXPECT_THAT(refusal_of("x=1,2,1"), HasSubstr("twice"));
  EXPECT_THAT(refusal_of("x=1-3+1,2"), HasSubstr("twice"));
}

TEST(Vary, ASignMakesAValueRelative) {
  EXPECT_EQ(relative_change("+1"), (RelativeChange{Kind::add, 1}));
  EXPECT_EQ(relative_change("-1"), (RelativeChange{Kind::add, -1}));
  EXPECT_EQ(relative_change("-2k"), (RelativeChange{Kind::add, -2000}));
  EXPECT_EQ(relative_change("*2"), (RelativeChange{Kind::multiply, 2}));
  EXPECT_EQ(relative_change("+20%"), (RelativeChange{Kind::multiply, 1.2}));
  EXPECT_EQ(relative_change("-20%"), (RelativeChange{Kind::multiply, 0.8}));
}

TEST(Vary, OtherValuesAreAbsolute) {
  for (const char* text : {"1", "2k", "+", "-", "*", "*0", "*-1", "-100%", "*5%", "+x", "-inf",
                           "+nan", "1-", "+1x", ""}) {
    EXPECT_EQ(relative_change(text), std::nullopt) << text;
  }
}

TEST(Vary, AGridHasEveryCombinationTheLastKeyFastest) {
  const std::vector<Knob> knobs = {{"a", {"1", "2"}}, {"b", {"x", "y"}}};
  std::vector<std::string> texts;
  for (const Settings& settings : grid_of(knobs)) texts.push_back(to_text(settings));
  EXPECT_THAT(texts, ElementsAre("a=1, b=x", "a=1, b=y", "a=2, b=x", "a=2, b=y"));
  texts.clear();
  for (const Settings& settings : one_at_a_time(knobs)) texts.push_back(to_text(settings));
  EXPECT_THAT(texts, ElementsAre("a=1", "a=2", "b=x", "b=y"));
}

TEST(Vary, TooLargeGridsAndRepeatedKeysAreRefused) {
  const Knob knob = parse_knob("a=1-1000+1", "--vary");
  Knob other = knob;
  EXPECT_THROW(grid_of({knob, other}), UsageError);
  EXPECT_THROW(one_at_a_time({knob, other}), UsageError);
  other.key = "b";
  EXPECT_THROW(grid_of({knob, other}), UsageError);  // a million
  EXPECT_EQ(one_at_a_time({knob, other}).size(), 2000U);
}

}  // namespace
}  // namespace roofcast

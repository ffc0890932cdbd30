#include "base/io/json_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace roofcast {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr JsonDialect kStrict{.shows_structure = true, .null_is_absent = false};

std::string complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(JsonReader, AbsentKeysAreNothing) {
  const json object = {{"there", 1}, {"null", nullptr}};
  const JsonReader reader(object, "f.json", kLenientJson);
  EXPECT_TRUE(reader.has("there"));
  EXPECT_FALSE(reader.has("null"));
  for (const char* key : {"null", "absent"}) {
    EXPECT_EQ(reader.integer(key, 0), std::nullopt);
    EXPECT_EQ(reader.number(key), std::nullopt);
    EXPECT_EQ(reader.text(key), std::nullopt);
    EXPECT_EQ(reader.flag(key), std::nullopt);
    EXPECT_FALSE(reader.object(key));
    EXPECT_TRUE(reader.part(key).value().empty());
    EXPECT_TRUE(reader.objects(key).empty());
    EXPECT_EQ(reader.numbers(key), std::nullopt);
  }
}

TEST(JsonReader, ANullIsAValueWhereTheDialectSaysSo) {
  const json object = {{"n", nullptr}};
  EXPECT_EQ(complaint([&] { JsonReader(object, "f.json", kStrict).text("n"); }),
            "f.json: n is null, expected a string");
}

TEST(JsonReader, ErrorsNameFileAndKeyAndSayWhatWasExpected) {
  const json object = {{"a", {{"b", json::array({{{"c", "x"}}})}}}};
  const JsonReader inner = JsonReader(object, "f.json", kLenientJson).part("a").objects("b").at(0);
  EXPECT_EQ(complaint([&] { inner.number("c"); }), "f.json: a.b[0].c is 'x', expected a number");
  EXPECT_EQ(complaint([&] { inner.required("d", "a string"); }),
            "f.json: a.b[0].d is missing, expected a string");
  EXPECT_EQ(complaint([&] { inner.fail_missing("c", "a file"); }),
            "f.json: a.b[0].c is missing, expected a file");
  EXPECT_EQ(complaint([&] { JsonReader(object, "f.json", kLenientJson).text("a"); }),
            "f.json: a is an object, expected a string");
  EXPECT_EQ(complaint([&] { JsonReader(object, "f.json", kStrict).text("a"); }),
            R"(f.json: a is {"b":[{"c":"x"}]}, expected a string)");
}

TEST(JsonReader, EachDialectHasItsOwnWords) {
  constexpr JsonDialect kWords{.place = "{where}: '{key}' ",
                               .refusal = "must be {expected}, not {value}",
                               .missing = "is missing"};
  const json object = {{"layers", -1}};
  const JsonReader reader(object, "config.json", kWords);
  EXPECT_EQ(complaint([&] { reader.integer("layers", 1, 10); }),
            "config.json: 'layers' must be a whole number from 1 to 10, not -1");
  EXPECT_EQ(complaint([&] { reader.required("heads"); }), "config.json: 'heads' is missing");
}

TEST(JsonReader, WholeNumbersKeepToTheirRange) {
  const json object = json::parse(R"({"n": 7, "low": -9223372036854775808,
    "big": 9223372036854775807, "too_big": 9223372036854775808, "half": 0.5, "written": 2.0})");
  const JsonReader reader(object, "f.json", kStrict);
  EXPECT_EQ(reader.integer("n", 7, 7), 7);
  EXPECT_EQ(reader.integer("big", 0), INT64_MAX);
  EXPECT_EQ(reader.integer("low", INT64_MIN), INT64_MIN);
  EXPECT_EQ(reader.count("written"), 2);
  for (const char* key : {"low", "too_big", "half", "written"}) {
    EXPECT_NE(complaint([&] { reader.integer(key, 0); }), "") << key;
  }
  EXPECT_EQ(complaint([&] { reader.integer("n", 8); }),
            "f.json: n is 7, expected a whole number from 8");
  EXPECT_NE(complaint([&] { reader.count("half"); }), "");
}

TEST(JsonReader, NumbersInTextsAreReadWhereToolsWriteThem) {
  const json object = {{"n", "2"}, {"far", "inf"}, {"none", "NaN"}, {"list", {"1", 2}}};
  const JsonReader lenient(object, "f.json", kLenientJson);
  EXPECT_EQ(lenient.number("n"), 2);
  EXPECT_TRUE(std::isinf(*lenient.number("far")));
  EXPECT_EQ(lenient.number("none"), std::nullopt);
  EXPECT_THAT(*lenient.numbers("list"), ElementsAre(1, 2));
  EXPECT_EQ(complaint([&] { JsonReader(object, "f.json", kStrict).number("n"); }),
            "f.json: n is \"2\", expected a finite number");
}

TEST(JsonReader, TextsSayNumbersInMoreThanOneWay) {
  const auto of_text = [](std::string_view text) { return number_in(text); };
  EXPECT_EQ(of_text("1e-3"), 1e-3);
  for (const char* text : {"inf", "+Inf", ".inf", "Infinity"}) {
    EXPECT_EQ(of_text(text), std::numeric_limits<double>::infinity()) << text;
  }
  EXPECT_EQ(of_text("-Infinity"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(of_text("NaN").value()));
  for (const char* text : {"", "1 ", "one", "0x10"}) EXPECT_EQ(of_text(text), std::nullopt);
}

TEST(JsonReader, UnknownKeysAreRefusedWithTheNearest) {
  const json object = {{"lenght", 1}};
  EXPECT_EQ(complaint([&] {
              JsonReader(object, "f.json", kStrict).check_keys({"length", "name"}, "is unknown");
            }),
            "f.json: lenght is unknown, did you mean 'length'?");
}

TEST(JsonReader, WhatErrorsRepeatIsShortAndOnOneLine) {
  const json object = {{"a\nb", std::string(1000, 'x')}};
  const std::string message =
      complaint([&] { JsonReader(object, "f.json", kStrict).number("a\nb"); });
  EXPECT_EQ(message, "f.json: a?b is \"" + std::string(39, 'x') + "..., expected a finite number");
}

}  // namespace
}  // namespace roofcast

#include "base/record.hpp"

#include <gtest/gtest.h>
#include <array>
#include <memory>

namespace roofcast {

enum class Colour { red, green };
template <>
struct EnumNames<Colour> {
  static constexpr std::array values{std::pair{Colour::red, "red"},
                                     std::pair{Colour::green, "green"}};
};

namespace {

struct Inner {
  std::string name{};
  Bytes bytes{};
};

template <class Visitor>
void members(Visitor& visit, Inner& inner) {
  visit("name", inner.name, "of the part");
  visit("bytes", inner.bytes, "held");
}

struct Outer {
  bool yes = false;
  std::int64_t count = 0;
  std::int32_t small = 0;
  double ratio = 0;
  Colour colour = Colour::red;
  std::optional<double> maybe{};
  std::optional<std::string> rare{};
  std::vector<Inner> parts{};
  std::map<std::string, double> by_name{};
  Json anything{};
  std::vector<std::pair<std::string, double>> in_order{};
  std::shared_ptr<const Json> shared{};
};

template <class Visitor>
void members(Visitor& visit, Outer& outer) {
  visit("yes", outer.yes, "a switch");
  visit("count", outer.count, "a count");
  visit("small", outer.small, "a count of 32 bits");
  visit("ratio", outer.ratio, "a number");
  visit("colour", outer.colour, "a name");
  visit("maybe", outer.maybe, "null when unset");
  visit.if_set("rare", outer.rare, "left out when unset");
  visit("parts", outer.parts, "a list");
  visit("by_name", outer.by_name, "a map");
  visit("anything", outer.anything, "as it is");
  visit("in_order", outer.in_order, "a map that keeps its order");
  visit("shared", outer.shared, "as it is, in a header");
}

struct Named {
  std::optional<Inner> part{};
  int count = 0;
};

template <class Visitor>
void members(Visitor& visit, Named& named) {
  visit.part_if_set("name", named.part, "a part");
  visit("count", named.count, "a count");
}

Outer example() {
  return {.yes = true,
          .count = std::int64_t{1} << 60,
          .small = -3,
          .ratio = 0.1,
          .colour = Colour::green,
          .maybe = 2.5,
          .rare = "here",
          .parts = {{"a", Bytes{8}}, {"b", Bytes{16}}},
          .by_name = {{"x", 1.0}},
          .anything = Json{{"z", 1}, {"a", 2}},
          .in_order = {{"second", 2.0}, {"first", 1.0}},
          .shared = std::make_shared<const Json>(Json{{"y", 1}, {"b", 2}})};
}

std::string refusal(const Json& json) {
  try {
    record_from_json<Outer>(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Record, IsWrittenInTheOrderOfItsList) {
  EXPECT_EQ(record_to_json(example()).dump(),
            R"({"yes":true,"count":1152921504606846976,"small":-3,"ratio":0.1,"colour":"green",)"
            R"("maybe":2.5,"rare":"here","parts":[{"name":"a","bytes":8.0},{"name":"b",)"
            R"("bytes":16.0}],"by_name":{"x":1.0},"anything":{"z":1,"a":2},)"
            R"("in_order":{"second":2.0,"first":1.0},"shared":{"y":1,"b":2}})");
}

TEST(Record, LeavesOutOrNullsWhatIsUnset) {
  const Json json = record_to_json(Outer{});
  EXPECT_TRUE(json.at("maybe").is_null());
  EXPECT_FALSE(json.contains("rare"));
}

TEST(Record, ReadsBackWhatItWrote) {
  const Json json = record_to_json(example());
  EXPECT_EQ(record_to_json(record_from_json<Outer>(json)), json);
  const Json empty = record_to_json(Outer{});
  EXPECT_EQ(record_to_json(record_from_json<Outer>(empty)), empty);
}

TEST(Record, PartsStandAmongTheMembersOrNotAtAll) {
  const Json json = record_to_json(Named{.part = Inner{"a", Bytes{8}}, .count = 2});
  EXPECT_EQ(json.dump(), R"({"name":"a","bytes":8.0,"count":2})");
  EXPECT_EQ(record_to_json(record_from_json<Named>(json)), json);
  EXPECT_EQ(record_to_json(record_from_json<Named>(Json{{"count", 2}})).dump(), R"({"count":2})");
  const Json schema = record_schema<Named>();
  EXPECT_TRUE(schema.at("properties").contains("bytes"));
  EXPECT_EQ(schema.at("required"), Json::array({"count"}));
}

TEST(Record, NamesThePlaceOfWhatIsWrong) {
  Json json = record_to_json(example());
  json["parts"][1]["bytes"] = "many";
  EXPECT_EQ(refusal(json), "parts.1.bytes: expected a number");
  json = record_to_json(example());
  json.erase("count");
  EXPECT_EQ(refusal(json), "count: expected a value, but the key is missing");
  json = record_to_json(example());
  json["small"] = std::int64_t{1} << 40;
  EXPECT_EQ(refusal(json), "small: expected a whole number within range");
  json = record_to_json(example());
  json["colour"] = "blue";
  EXPECT_EQ(refusal(json), "colour: expected one of red, green");
  EXPECT_EQ(refusal(Json::array()), "the record: expected an object");
}

TEST(Record, DescribesItselfAsJsonSchema) {
  const Json schema = schema_document<Outer>("outer");
  EXPECT_EQ(schema.at("title"), "outer");
  EXPECT_EQ(schema.at("properties").at("count"),
            (Json{{"type", "integer"}, {"description", "a count"}}));
  EXPECT_EQ(schema.at("properties").at("parts").at("items").at("required"),
            (Json{"name", "bytes"}));
  const Json& required = schema.at("required");
  EXPECT_EQ(std::count(required.begin(), required.end(), Json("rare")), 0);
  EXPECT_EQ(std::count(required.begin(), required.end(), Json("maybe")), 1);
}

}  // namespace
}  // namespace roofcast

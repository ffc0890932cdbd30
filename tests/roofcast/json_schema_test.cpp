#include "tests/support/json_schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Json& point_schema() {
  static const Json schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "x": {"type": ["number", "null"], "description": "where"},
      "name": {"enum": ["a", "b"]},
      "tags": {"type": "array", "items": {"type": "string"}},
      "left": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
      "rates": {"type": "object", "additionalProperties": {"type": "number"}}
    },
    "required": ["x", "name"]
  })");
  return schema;
}

std::vector<std::string> violations(const char* text) {
  return schema_violations(point_schema(), Json::parse(text));
}

TEST(JsonSchema, AllowsWhatItDescribes) {
  EXPECT_THAT(violations(R"({"x": 1.5, "name": "a"})"), IsEmpty());
  EXPECT_THAT(violations(R"({"x": null, "name": "b", "tags": ["t"], "left": 3,
                             "rates": {"bf16": 1e12}, "more": true})"),
              IsEmpty());
}

TEST(JsonSchema, NamesThePlaceOfEachViolation) {
  EXPECT_THAT(violations(R"({"x": "1"})"),
              ElementsAre(R"($.x: is not of type ["number","null"])", "$: lacks name"));
  EXPECT_THAT(violations(R"({"x": 1, "name": "c"})"),
              ElementsAre(R"($.name: "c" is not one of ["a","b"])"));
  EXPECT_THAT(violations(R"({"x": 1, "name": "a", "tags": ["t", 2]})"),
              ElementsAre(R"($.tags.1: is not of type "string")"));
  EXPECT_THAT(violations(R"({"x": 1, "name": "a", "left": 1.5})"),
              ElementsAre("$.left: matches nothing of anyOf"));
  EXPECT_THAT(violations(R"({"x": 1, "name": "a", "rates": {"bf16": "fast"}})"),
              ElementsAre(R"($.rates.bf16: is not of type "number")"));
  EXPECT_THAT(violations("[]"), ElementsAre(R"($: is not of type "object")"));
}

TEST(JsonSchema, RefusesKeywordsThatItDoesNotKnow) {
  EXPECT_THAT(schema_violations(Json{{"minimum", 1}}, Json(2)),
              ElementsAre("$: keyword minimum is not understood"));
}

TEST(JsonSchema, ClosedAllowsNoOtherKeys) {
  EXPECT_THAT(schema_violations(closed(point_schema()),
                                Json::parse(R"({"x": 1, "name": "a", "more": true})")),
              ElementsAre("$: has more, which is not described"));
}

}  // namespace
}  // namespace roofcast::test

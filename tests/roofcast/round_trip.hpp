// What holds of every answer: its JSON is described by its schema, key by key, and reading it back
// loses nothing of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/json_schema.hpp"

namespace roofcast::test {

/// `from_json` reads an answer of its own type back.
template <class Answer>
void expect_round_trip(const Answer& answer, const Json& schema, Answer (*from_json)(const Json&)) {
  const Json json = to_json(answer);
  EXPECT_THAT(schema_violations(closed(schema), json), ::testing::IsEmpty());
  EXPECT_EQ(to_json(from_json(json)).dump(), json.dump());
  // As another program has it: from text.
  EXPECT_EQ(to_json(from_json(Json::parse(json.dump()))).dump(), json.dump());
}

/// What `ask` complains of; empty: it does not.
template <class Ask>
std::string complaint(Ask ask) {
  try {
    ask();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace roofcast::test

// Checks that hold for every answer and its JSON.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "tests/support/json_schema.hpp"

namespace roofcast::test {

/// The answer that its JSON was read back to; that JSON keeps to the schema and is written again
/// byte for byte.
template <class Answer, class FromJson>
Answer read_back(const Answer& answer, const FromJson& from_json, const Json& schema) {
  const std::string written = to_json(answer).dump(2);
  const Json json = Json::parse(written);
  EXPECT_THAT(schema_violations(closed(schema), json), testing::IsEmpty());
  Answer read = from_json(json);
  EXPECT_EQ(to_json(read).dump(2), written);
  return read;
}

/// The message of `ask`'s error; empty: it throws none.
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

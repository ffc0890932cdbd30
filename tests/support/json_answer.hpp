// Answers of the program in JSON, and its one-line errors, of a command line as a user types it.
#pragma once

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/run_command.hpp"

namespace roofcast::test {

/// The JSON that `line` with -o json prints; null, and a failed test, when it exits with another
/// code.
inline nlohmann::json json_answer(const std::string& line, int exit_code = 0) {
  const CommandResult result = run_command(line + " -o json");
  EXPECT_EQ(result.exit_code, exit_code) << line << ": " << result.err;
  return result.exit_code == exit_code ? nlohmann::json::parse(result.out) : nlohmann::json();
}

/// Usage error: a line on stderr that contains `about`, exit code 2.
inline void expect_misuse(const std::string& line, const std::string& about) {
  const CommandResult result = run_command(line);
  EXPECT_EQ(result.exit_code, 2) << line << "\n" << result.err;
  EXPECT_THAT(result.err, testing::HasSubstr(about)) << line;
}

}  // namespace roofcast::test

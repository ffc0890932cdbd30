// What every answer's JSON begins with.
#pragma once

#include <cstdint>
#include <string>

namespace roofcast {

/// Of the answer of a command: the version of its keys, and of the program that gave it.
struct AnswerHead {
  std::int64_t schema_version = 0;
  std::string tool_version{};
  std::string command{};
};

/// Of this program.
AnswerHead answer_head(const std::string& command);

}  // namespace roofcast

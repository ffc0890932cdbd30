#include "roofcast/envelope.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/record.hpp"
#include "base/version.hpp"

namespace roofcast {

AnswerHead answer_head(const std::string& command) {
  return {.tool_version = kVersion, .command = command};
}

void check_head(const AnswerHead& head, const std::string& command) {
  if (head.schema_version != kOutputSchemaVersion) {
    throw Error(fmt::format("schema_version: expected {}, found {}", kOutputSchemaVersion,
                            head.schema_version));
  }
  if (head.command != command) {
    throw Error(fmt::format("command: expected {}, found '{}'", command, head.command));
  }
}

Json envelope(const std::string& command, Json inputs) {
  Json document = record_to_json(answer_head(command));
  document["inputs"] = std::move(inputs);
  return document;
}

}  // namespace roofcast

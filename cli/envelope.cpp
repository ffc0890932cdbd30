#include "cli/envelope.hpp"

#include <utility>

#include "cli/version.hpp"

namespace roofcast {

Json envelope(const std::string& command, Json inputs) {
  Json document;
  document["schema_version"] = kOutputSchemaVersion;
  document["tool_version"] = kVersion;
  document["command"] = command;
  document["inputs"] = std::move(inputs);
  return document;
}

}  // namespace roofcast

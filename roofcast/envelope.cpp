#include "roofcast/envelope.hpp"

#include <utility>

#include "base/version.hpp"

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

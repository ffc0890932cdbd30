// The head of every machine-readable result.
#pragma once

#include <string>

#include "reports/document.hpp"

namespace roofcast {

/// Version of the JSON that commands print; raised when a key changes meaning or goes.
inline constexpr int kOutputSchemaVersion = 1;

/// {"schema_version", "tool_version", "command", "inputs"}; results follow at the same level.
Json envelope(const std::string& command, Json inputs);

}  // namespace roofcast

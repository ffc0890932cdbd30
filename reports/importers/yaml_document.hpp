// Reads YAML as JSON with the same keys, for the readers of JSON results.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/io/byte_source.hpp"

namespace roofcast {

/// Whether a line of `head` starts with `key`, as a key of the top-level mapping does ("version:").
bool has_outer_key(std::string_view head, std::string_view key);

/// The whole document, scalars as strings: "0.30" may be a version. Throws Error with file and line
/// if it is not valid YAML or too large, and in a build without a YAML reader.
nlohmann::json read_yaml(ByteSource& bytes);

}  // namespace roofcast

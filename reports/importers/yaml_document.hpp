// YAML as JSON: the same keys, for the readers of JSON results.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/io/byte_source.hpp"

namespace roofcast {

/// Whether a line of `head` begins with `key`, as a key of the outermost mapping does ("version:").
bool has_outer_key(std::string_view head, std::string_view key);

/// The whole document, scalars as texts: "0.30" may be a version. Throws Error naming file and line
/// for what is no YAML or too large, and where the program was built without a reader of it.
nlohmann::json read_yaml(ByteSource& bytes);

}  // namespace roofcast

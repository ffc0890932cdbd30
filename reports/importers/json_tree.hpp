// Reads one JSON document of a stream as a tree within limits, so that no file can use more memory
// than a large result does.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/io/json_buffer.hpp"

namespace roofcast {

/// Reads the next document and leaves the stream after it. Strings are cut at 4,096 bytes, longer
/// than anything that is read of a result. Throws Error "NAME:LINE: ..." for malformed JSON,
/// nesting deeper than 32 levels, or more than 20 million values.
nlohmann::json read_json_document(JsonBuffer& text, const std::string& name);

}  // namespace roofcast

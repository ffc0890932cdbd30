// One JSON document of a stream as a tree, within bounds: whatever a file holds, it costs no more
// memory than a large result does.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/io/json_buffer.hpp"

namespace roofcast {

/// Reads the next document and leaves the stream behind it. Texts are cut at 4,096 bytes: nothing
/// that is read of a result is longer. Throws Error "NAME:LINE: ..." for what is not JSON, nests
/// deeper than 32 levels, or holds over 20 million values.
nlohmann::json read_json_document(JsonBuffer& text, const std::string& name);

}  // namespace roofcast

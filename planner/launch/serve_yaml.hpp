// The YAML that engines take as --config: nested keys and plain values, without anchors or flow
// mappings. Lists are values as they are written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roofcast {

/// {"kv_cache_config.dtype", "fp8"}, in the order of the text, quotes and comments removed. Throws
/// Error "WHERE: line N ..." for a line that is no key.
std::vector<std::pair<std::string, std::string>> read_serve_yaml(std::string_view text,
                                                                 const std::string& where);

/// The same keys as YAML; those of one section follow each other.
std::string write_serve_yaml(const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace roofcast

// The YAML that engines take as --config: nested keys and plain values, without anchors. Bracketed
// lists and maps are kept as written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roofcast {

/// {"kv_cache_config.dtype", "fp8"}, in the order of the text, without quotes and comments; a key
/// with no value and nothing below it is "null". Throws Error "WHERE: line N ..." for a line that
/// is not a key, and for unclosed brackets.
std::vector<std::pair<std::string, std::string>> read_serve_yaml(std::string_view text,
                                                                 const std::string& where);

/// The keys of a map in braces, each with its value as written: "dtype" and "sizes" for "{dtype:
/// fp8, sizes: [1, 2]}". Nullopt if `text` is not such a map.
std::optional<std::vector<std::pair<std::string, std::string>>> inline_map(std::string_view value);

/// The same keys as YAML; keys of one section must be adjacent.
std::string write_serve_yaml(const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace roofcast

// The YAML that engines take as --config: nested keys and plain values, without anchors. Lists
// and maps in brackets are values as they are written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roofcast {

/// {"kv_cache_config.dtype", "fp8"}, in the order of the text, quotes and comments removed; a key
/// with nothing behind it and nothing below is "null". Throws Error "WHERE: line N ..." for a line
/// that is no key, and for brackets that do not close.
std::vector<std::pair<std::string, std::string>> read_serve_yaml(std::string_view text,
                                                                 const std::string& where);

/// The keys of a map in braces, each with its value as written: of "{dtype: fp8, sizes: [1, 2]}"
/// "dtype" and "sizes". Nothing when the value is none.
std::optional<std::vector<std::pair<std::string, std::string>>> inline_map(std::string_view value);

/// The same keys as YAML; those of one section follow each other.
std::string write_serve_yaml(const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace roofcast

// Reads JSON as a stream of scalars with their paths, without building a tree: checkpoint indexes
// reach megabytes, and a malicious one must not need more memory than its text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace roofcast {

/// One step of a path: a member's key, or an element's index in a list.
struct JsonStep {
  std::string key;          // empty for a list element
  std::int64_t index = -1;  // -1 for a member
};

/// null is monostate; non-negative whole numbers are unsigned.
using JsonScalar =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

using OnJsonScalar =
    std::function<void(const std::vector<JsonStep>& path, const JsonScalar& value)>;

/// Calls `on_scalar` for every scalar, in order. Throws Error "WHERE: ..." if the text is not JSON
/// or nests deeper than `max_levels`.
void for_each_json_scalar(const std::string& text, const std::string& where, std::size_t max_levels,
                          const OnJsonScalar& on_scalar);

}  // namespace roofcast

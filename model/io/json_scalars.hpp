// Reads JSON as a stream of scalars with their paths, without keeping a tree of it: checkpoint
// indexes run to megabytes, and a hostile one must not cost more memory than its own text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace roofcast {

/// One step from the root: a member's key, or an element's index in a list.
struct JsonStep {
  std::string key;          // empty for a list element
  std::int64_t index = -1;  // -1 for a member
};

/// null is monostate; whole numbers are unsigned where they are not negative.
using JsonScalar =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

using OnJsonScalar =
    std::function<void(const std::vector<JsonStep>& path, const JsonScalar& value)>;

/// Calls `on_scalar` for every scalar, in order. Throws Error "WHERE: ..." for text that is not
/// JSON and for nesting deeper than `max_levels`.
void for_each_json_scalar(const std::string& text, const std::string& where, std::size_t max_levels,
                          const OnJsonScalar& on_scalar);

}  // namespace roofcast

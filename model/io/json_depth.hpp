// What a JSON text is refused for that its parser takes. nlohmann::json writes and copies a value
// by recursion, so one that nests some ten thousand levels deep would take the whole stack; and of
// a key that is given twice the last wins in silence.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "model/error.hpp"

namespace roofcast {

/// Beyond any config, profile or scenario.
inline constexpr int kDeepestJson = 64;

/// For parse(): throws Error "WHERE: ..." at the first value below kDeepestJson levels.
template <class Json>
typename Json::parser_callback_t bounded_depth(const std::string& where) {
  return [where](int depth, typename Json::parse_event_t, Json&) {
    if (depth > kDeepestJson) {
      throw Error(fmt::format("{}: nests deeper than {} levels", where, kDeepestJson));
    }
    return true;
  };
}

/// The same, and Error "WHERE: key 'KEY' is given twice in one object".
template <class Json>
typename Json::parser_callback_t strict_parsing(const std::string& where) {
  return [where, check_depth = bounded_depth<Json>(where),
          keys = std::vector<std::set<std::string>>()](
             int depth, typename Json::parse_event_t event, Json& value) mutable {
    check_depth(depth, event, value);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key) return true;
    const auto& key = value.template get_ref<const std::string&>();
    if (keys.back().insert(key).second) return true;
    constexpr std::size_t kShownCharacters = 40;
    std::string shown = key.substr(0, kShownCharacters);
    std::replace_if(
        shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    throw Error(fmt::format("{}: key '{}' is given twice in one object", where, shown));
  };
}

}  // namespace roofcast

// How deep a JSON text may nest. nlohmann::json writes and copies a value by recursion, so one that
// nests some ten thousand levels deep would take the whole stack.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

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

}  // namespace roofcast

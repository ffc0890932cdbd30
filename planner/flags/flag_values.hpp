// Parsers of flag values: each reads the text after a flag and throws UsageError naming flag, text
// and what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"

namespace roofcast {

/// A count of at least 1.
inline std::int64_t parse_positive(const std::string& text, const std::string& flag) {
  return parse_count_by(
      {.what = "count above zero", .examples = "1, 256", .min = 1, .max = 1'000'000'000}, text,
      flag);
}

inline double parse_positive_number(const std::string& text, const std::string& flag) {
  if (const auto given = to_number<double>(text); given && *given <= 0) {
    throw UsageError(flag + ": '" + text + "' must be above 0");
  }
  return parse_number_by({.what = "number above zero",
                          .examples = "0.5, 2",
                          .min = 1e-9,
                          .max = 1e9,
                          .allow_infinite = false},
                         text, flag);
}

inline bool parse_switch(const std::string& text, const std::string& flag) {
  if (const auto on = switch_named(text)) return *on;
  throw UsageError(flag + ": '" + text + "' is not a switch (true or false)");
}

inline std::string parse_text(const std::string& text, const std::string&) { return text; }

/// Adapts a parser of the simulator to flags: its error becomes a UsageError that names the flag.
template <class Parse>
auto naming_flag(Parse parse) {
  return [parse](const std::string& text, const std::string& flag) {
    try {
      return parse(text);
    } catch (const Error& error) {
      throw UsageError(flag + ": " + error.what());
    }
  };
}

}  // namespace roofcast

// What the flags of several commands take, in words: each reads the text after a flag and throws
// UsageError naming flag, text and what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/quantity.hpp"

namespace roofcast {

/// How many of something there must be at least one of.
inline std::int64_t parse_positive(const std::string& text, const std::string& flag) {
  return parse_count_by(
      {.what = "count above zero", .examples = "1, 256", .min = 1, .max = 1'000'000'000}, text,
      flag);
}

inline double parse_positive_number(const std::string& text, const std::string& flag) {
  return parse_number_by({.what = "number above zero",
                          .examples = "0.5, 2",
                          .min = 1e-9,
                          .max = 1e9,
                          .allow_infinite = false},
                         text, flag);
}

/// A reader of the simulator's texts as a flag's reader: its complaint is the user's, and names the
/// flag.
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

/// Takes `given` where it was set.
template <class Value>
void take(std::optional<Value>& knob, const std::optional<Value>& given) {
  if (given) knob = given;
}

inline std::string parse_text(const std::string& text, const std::string&) { return text; }

}  // namespace roofcast

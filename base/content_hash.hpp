// Hashes content value by value, the same on every machine. Tells apart two models or loads that
// share a name.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/fnv1a.hpp"
#include "base/hash_mix.hpp"
#include "base/units.hpp"

namespace roofcast {

struct ContentHash {
  std::uint64_t value = 0;

  template <class Number>
  requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>) void add(Number number) {
    if constexpr (std::is_floating_point_v<Number>) {
      value = hash_mix(value, std::bit_cast<std::uint64_t>(static_cast<double>(number)));
    } else {
      value = hash_mix(value, static_cast<std::uint64_t>(number));
    }
  }

  template <class Tag>
  void add(Quantity<Tag> quantity) {
    add(quantity.value);
  }

  /// Includes the length, so that two consecutive texts differ from their concatenation.
  void add(std::string_view text) {
    add(text.size());
    add(fnv1a(text));
  }

  template <class Value>
  void add(const std::optional<Value>& given) {
    add(given.has_value());
    if (given) add(*given);
  }

  template <class... Values>
  void add_all(const Values&... values) {
    (add(values), ...);
  }
};

}  // namespace roofcast

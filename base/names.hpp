// The names of an enumeration's values, listed once for writing and for reading.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace roofcast {

template <class Enum, std::size_t kCount>
using NameTable = std::array<std::pair<Enum, std::string_view>, kCount>;

/// The first name that the table lists for `value`; empty if there is none.
template <class Enum, std::size_t kCount>
constexpr std::string_view name_in(const NameTable<Enum, kCount>& table, Enum value) {
  for (const auto& [one, name] : table) {
    if (one == value) return name;
  }
  return {};
}

/// The first name of each value, in the table's order.
template <class Enum, std::size_t kCount>
std::vector<std::string_view> names_in(const NameTable<Enum, kCount>& table) {
  std::vector<std::string_view> names;
  for (const auto& [value, name] : table) {
    if (name_in(table, value) == name) names.push_back(name);
  }
  return names;
}

/// The value with this name; nullopt if there is none.
template <class Enum, std::size_t kCount>
constexpr std::optional<Enum> value_in(const NameTable<Enum, kCount>& table,
                                       std::string_view name) {
  for (const auto& [one, known] : table) {
    if (known == name) return one;
  }
  return std::nullopt;
}

}  // namespace roofcast

// The texts of a list's elements as one text.
#pragma once

#include <concepts>
#include <functional>
#include <ranges>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace roofcast {

/// What `text_of` (a function or a member) makes of each element, joined; empty texts are left out.
template <std::ranges::input_range List, class TextOf>
requires std::invocable<TextOf&, std::ranges::range_reference_t<const List>> std::string joined(
    const List& list, TextOf text_of, std::string_view separator = ", ") {
  std::string text;
  for (const auto& element : list) {
    const std::string one(std::invoke(text_of, element));
    if (one.empty()) continue;
    if (!text.empty()) text += separator;
    text += one;
  }
  return text;
}

}  // namespace roofcast

#include <algorithm>
#include <array>
#include <cstdint>

#include "reports/document.hpp"

namespace roofcast {
namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
};

struct Range {
  char32_t first, last;
};

// Blocks of combining marks and invisible characters (Unicode 15, general categories Mn and Cf).
constexpr std::array<Range, 8> kNoWidth{{{0x0300, 0x036F},
                                         {0x0483, 0x0489},
                                         {0x1AB0, 0x1AFF},
                                         {0x1DC0, 0x1DFF},
                                         {0x200B, 0x200F},
                                         {0x20D0, 0x20FF},
                                         {0xFE00, 0xFE0F},
                                         {0xFEFF, 0xFEFF}}};

// Blocks that terminals draw two columns wide (Unicode Annex 11, East Asian Width W and F).
constexpr std::array<Range, 9> kTwoWide{{{0x1100, 0x115F},
                                         {0x2E80, 0xA4CF},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0xFFE0, 0xFFE6},
                                         {0x1F300, 0x1FAFF},
                                         {0x20000, 0x3FFFD}}};

template <std::size_t Count>
bool within(char32_t value, const std::array<Range, Count>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [value](const Range& range) {
    return value >= range.first && value <= range.last;
  });
}

std::size_t sequence_length(unsigned char lead) {
  if (lead < 0xC2) return 1;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 1;
}

/// The first character of `text`; a byte that is not valid UTF-8 counts as one character.
CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = sequence_length(lead);
  if (length == 1 || length > text.size()) return {.value = lead, .bytes = 1};
  char32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0u) != 0x80u) return {.value = lead, .bytes = 1};
    value = (value << 6) | (next & 0x3Fu);
  }
  return {.value = value, .bytes = length};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!within(point.value, kNoWidth)) width += within(point.value, kTwoWide) ? 2 : 1;
    text.remove_prefix(point.bytes);
  }
  return width;
}

}  // namespace roofcast

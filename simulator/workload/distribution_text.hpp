// What the texts of all distributions are made of: parts between colons, numbers, counts.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace roofcast {

std::vector<std::string_view> split_at_colons(std::string_view text);

/// A finite number that is the whole text.
std::optional<double> number_in_text(std::string_view text);

/// A number with vLLM's suffixes (human_readable_int: 1k = 1000, 1K = 1024, likewise m and M), from
/// 0 to kMaxTokens.
std::optional<double> count_in_text(std::string_view text);

/// The same, whole and at least one.
std::optional<double> tokens_in_text(std::string_view text);

}  // namespace roofcast

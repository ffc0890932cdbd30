// "Did you mean": the candidates nearest to a word that matched none of them. Shared by the
// command line and the readers of profiles, models and scenarios.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// Single-character insertions, deletions, substitutions and swaps of neighbours that turn `a` into
/// `b` (optimal string alignment distance), ASCII case ignored.
int edit_distance(std::string_view a, std::string_view b);

/// The candidates near enough to `text` to be what was meant, nearest first, ties in the order
/// given, at most three. Near: within a third of the longer word's letters (two at least), or one
/// contains the other.
std::vector<std::string> nearest(std::string_view text, const std::vector<std::string>& candidates);

/// ", did you mean 'a' or 'b'?" for the end of an error text; empty when nothing is near.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace roofcast

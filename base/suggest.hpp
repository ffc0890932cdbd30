// "Did you mean": the candidates nearest to a word that matched none of them. Shared by the
// command line and the readers of profiles, models and scenarios.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// Damerau-Levenshtein distance, optimal string alignment variant: the number of single-character
/// insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`. Ignores
/// ASCII case.
int edit_distance(std::string_view a, std::string_view b);

/// At most three candidates that `text` may have been meant as, nearest first, ties in the order
/// given: those within a third of the longer word's letters (at least two), and those that contain
/// `text` or are contained in it.
std::vector<std::string> nearest(std::string_view text, const std::vector<std::string>& candidates);

/// ", did you mean 'a' or 'b'?" to append to an error; empty if nothing is near.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace roofcast

#include "base/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/text.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMaxSuggestions = 3;
constexpr std::size_t kShortestFragment = 3;  // shorter fragments match by chance

bool contains(const std::string& text, const std::string& fragment) {
  return fragment.size() >= kShortestFragment && text.find(fragment) != std::string::npos;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::string from = lower(a);
  const std::string to = lower(b);
  const std::size_t columns = to.size() + 1;
  std::vector<int> table((from.size() + 1) * columns);
  const auto cell = [&](std::size_t i, std::size_t j) -> int& { return table[i * columns + j]; };
  for (std::size_t i = 0; i <= from.size(); ++i) cell(i, 0) = static_cast<int>(i);
  for (std::size_t j = 0; j <= to.size(); ++j) cell(0, j) = static_cast<int>(j);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const int change = from[i - 1] == to[j - 1] ? 0 : 1;
      int best = std::min({cell(i - 1, j) + 1, cell(i, j - 1) + 1, cell(i - 1, j - 1) + change});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) best = std::min(best, cell(i - 2, j - 2) + 1);
      cell(i, j) = best;
    }
  }
  return cell(from.size(), to.size());
}

std::vector<std::string> nearest(std::string_view text,
                                 const std::vector<std::string>& candidates) {
  const std::string wanted = lower(text);
  std::vector<std::pair<int, std::string>> near;
  for (const std::string& candidate : candidates) {
    const std::string name = lower(candidate);
    const int distance = edit_distance(wanted, name);
    const int allowed = std::max(2, static_cast<int>(std::max(wanted.size(), name.size()) / 3));
    const bool one_contains_other = contains(name, wanted) || contains(wanted, name);
    if (distance <= allowed || one_contains_other) near.emplace_back(distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (const auto& [distance, candidate] : near) {
    if (result.size() == kMaxSuggestions) break;
    if (std::find(result.begin(), result.end(), candidate) == result.end()) {
      result.push_back(candidate);
    }
  }
  return result;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates) {
  const std::vector<std::string> near = nearest(text, candidates);
  std::string result;
  for (std::size_t i = 0; i < near.size(); ++i) {
    const bool last = i + 1 == near.size();
    result += i == 0 ? ", did you mean '" : (last ? " or '" : ", '");
    result += near[i] + "'";
  }
  return result.empty() ? result : result + "?";
}

}  // namespace roofcast

#include "simulator/workload/distribution_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "simulator/workload/limits.hpp"

namespace roofcast {
namespace {

/// Decimal in lower case, binary in upper case.
std::optional<double> multiplier_of(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "k") return 1e3;
  if (suffix == "K") return 1024;
  if (suffix == "m") return 1e6;
  if (suffix == "M") return 1024.0 * 1024.0;
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> split_at_colons(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':')) {
    parts.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  parts.push_back(text);
  return parts;
}

std::optional<double> number_in_text(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<double> count_in_text(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_of("kKmM"), text.size());
  const auto number = number_in_text(text.substr(0, digits));
  const auto multiplier = multiplier_of(text.substr(digits));
  if (!number || !multiplier) return std::nullopt;
  const double count = *number * *multiplier;
  if (count < 0 || count > static_cast<double>(kMaxTokens)) return std::nullopt;
  return count;
}

std::optional<double> tokens_in_text(std::string_view text) {
  const auto count = count_in_text(text);
  if (!count || *count < 1 || *count != std::floor(*count)) return std::nullopt;
  return count;
}

}  // namespace roofcast

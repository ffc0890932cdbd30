// The texts of length distributions: "512", "uniform:100:900", "normal:512:64", ...
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "model/error.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {
namespace {

/// vLLM's multipliers of counts (human_readable_int): decimal in lower case, binary in upper case.
std::optional<double> multiplier_of(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "k") return 1e3;
  if (suffix == "K") return 1024;
  if (suffix == "m") return 1e6;
  if (suffix == "M") return 1024.0 * 1024.0;
  return std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<double> parse_count(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_of("kKmM"), text.size());
  const auto number = parse_number(text.substr(0, digits));
  const auto multiplier = multiplier_of(text.substr(digits));
  if (!number || !multiplier) return std::nullopt;
  const double count = *number * *multiplier;
  if (count < 0 || count > static_cast<double>(kMostTokens)) return std::nullopt;
  return count;
}

std::optional<double> parse_tokens(std::string_view text) {
  const auto count = parse_count(text);
  if (!count || *count < 1 || *count != std::floor(*count)) return std::nullopt;
  return count;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':')) {
    parts.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  parts.push_back(text);
  return parts;
}

std::optional<LengthDistribution> parse(std::string_view text) {
  using Kind = LengthDistribution::Kind;
  const auto parts = split(text);
  if (parts.size() == 1 || (parts.size() == 2 && parts[0] == "fixed")) {
    const auto tokens = parse_tokens(parts.back());
    if (!tokens) return std::nullopt;
    return LengthDistribution{Kind::fixed, *tokens, 0};
  }
  if (parts.size() != 3) return std::nullopt;
  if (parts[0] == "uniform") {
    const auto low = parse_tokens(parts[1]);
    const auto high = parse_tokens(parts[2]);
    if (!low || !high || *low > *high) return std::nullopt;
    return LengthDistribution{Kind::uniform, *low, *high};
  }
  const auto centre = parse_count(parts[1]);
  if (!centre || *centre <= 0) return std::nullopt;
  if (parts[0] == "normal") {
    const auto deviation = parse_count(parts[2]);
    if (!deviation) return std::nullopt;
    return LengthDistribution{Kind::normal, *centre, *deviation};
  }
  if (parts[0] == "lognormal") {
    const auto sigma = parse_number(parts[2]);
    if (!sigma || *sigma < 0 || *sigma > 10) return std::nullopt;
    return LengthDistribution{Kind::lognormal, *centre, *sigma};
  }
  return std::nullopt;
}

}  // namespace

LengthDistribution parse_length_distribution(const std::string& text) {
  if (const auto lengths = parse(text)) return *lengths;
  throw Error(fmt::format(
      "length '{}': expected TOKENS, uniform:LOW:HIGH, normal:MEAN:SD or lognormal:MEDIAN:SIGMA, "
      "with counts from 1 to {} (1k is 1000, 1K is 1024) and SIGMA from 0 to 10",
      text, kMostTokens));
}

std::string to_text(const LengthDistribution& lengths) {
  using Kind = LengthDistribution::Kind;
  switch (lengths.kind) {
    case Kind::fixed:
      break;
    case Kind::uniform:
      return fmt::format("uniform:{}:{}", lengths.a, lengths.b);
    case Kind::normal:
      return fmt::format("normal:{}:{}", lengths.a, lengths.b);
    case Kind::lognormal:
      return fmt::format("lognormal:{}:{}", lengths.a, lengths.b);
  }
  return fmt::format("{}", lengths.a);
}

}  // namespace roofcast

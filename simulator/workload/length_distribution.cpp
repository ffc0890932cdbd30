#include "simulator/workload/length_distribution.hpp"

#include <fmt/format.h>

#include <optional>
#include <span>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

using Kind = LengthDistribution::Kind;
using Parts = std::span<const std::string_view>;

constexpr std::string_view kEmpirical = "empirical:";

/// From 0 to kMaxTokens, not necessarily whole.
std::optional<double> length_in(std::string_view text) {
  const auto length = amount_in(text);
  const bool possible = length && *length >= 0 && *length <= static_cast<double>(kMaxTokens);
  return possible ? length : std::nullopt;
}

std::optional<std::int64_t> tokens_in(std::string_view text) {
  const auto tokens = count_in(text);
  return tokens && *tokens >= 1 && *tokens <= kMaxTokens ? tokens : std::nullopt;
}

std::optional<LengthDistribution> parse_uniform(Parts parts) {
  if (parts.size() != 3) return std::nullopt;
  const auto low = tokens_in(parts[1]);
  const auto high = tokens_in(parts[2]);
  if (!low || !high || *low > *high) return std::nullopt;
  return LengthDistribution{
      .kind = Kind::uniform, .a = static_cast<double>(*low), .b = static_cast<double>(*high)};
}

/// KIND:CENTRE:SPREAD, with or without :MIN:MAX.
std::optional<LengthDistribution> parse_bell(Parts parts) {
  if (parts.size() != 3 && parts.size() != 5) return std::nullopt;
  const bool normal = parts[0] == "normal";
  const auto centre = length_in(parts[1]);
  const auto spread = normal ? length_in(parts[2]) : to_number<double>(parts[2]);
  if (!centre || *centre <= 0 || !spread) return std::nullopt;
  if (!normal && (*spread < 0 || *spread > kMaxSigma)) return std::nullopt;
  LengthDistribution lengths{
      .kind = normal ? Kind::normal : Kind::lognormal, .a = *centre, .b = *spread};
  if (parts.size() == 3) return lengths;
  const auto min = tokens_in(parts[3]);
  const auto max = tokens_in(parts[4]);
  if (!min || !max || *min > *max) return std::nullopt;
  lengths.min = *min;
  lengths.max = *max;
  return lengths;
}

std::optional<LengthDistribution> parse_lengths(std::string_view text) {
  if (text.starts_with(kEmpirical)) {
    const std::string file(text.substr(kEmpirical.size()));
    if (file.empty()) return std::nullopt;
    return LengthDistribution{.kind = Kind::empirical, .file = file};
  }
  const auto parts = split(text, ':');
  if (parts[0] == "uniform") return parse_uniform(parts);
  if (parts[0] == "normal" || parts[0] == "lognormal") return parse_bell(parts);
  if (parts.size() > 2 || (parts.size() == 2 && parts[0] != "fixed")) return std::nullopt;
  const auto tokens = tokens_in(parts.back());
  if (!tokens) return std::nullopt;
  return fixed_length(*tokens);
}

}  // namespace

LengthDistribution parse_length_distribution(const std::string& text) {
  if (const auto lengths = parse_lengths(text)) return *lengths;
  throw Error(fmt::format(
      "length '{}': expected {}, with counts from 1 to {} (1k is 1000, 1K is 1024), LOW "
      "and MIN no more than HIGH and MAX, and SIGMA from 0 to {}",
      text, kLengthForms, kMaxTokens, kMaxSigma));
}

std::string to_text(const LengthDistribution& lengths) {
  const bool bounded = lengths.min != 1 || lengths.max != kMaxTokens;
  const std::string bounds = bounded ? fmt::format(":{}:{}", lengths.min, lengths.max) : "";
  switch (lengths.kind) {
    case Kind::fixed:
      break;
    case Kind::uniform:
      return fmt::format("uniform:{}:{}", lengths.a, lengths.b);
    case Kind::normal:
      return fmt::format("normal:{}:{}{}", lengths.a, lengths.b, bounds);
    case Kind::lognormal:
      return fmt::format("lognormal:{}:{}{}", lengths.a, lengths.b, bounds);
    case Kind::empirical:
      return std::string(kEmpirical) + lengths.file;
  }
  return fmt::format("{}", lengths.a);
}

}  // namespace roofcast

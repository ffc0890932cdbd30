// Distributions of token counts (and of other counts of at least one, such as a session's turns),
// and the text form that specifies them.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/workload/limits.hpp"

namespace roofcast {

/// A distribution of counts. All draws are rounded to whole numbers.
struct LengthDistribution {
  enum class Kind { fixed, uniform, normal, lognormal, empirical };
  Kind kind = Kind::fixed;
  double a = 0;  // fixed: tokens; uniform: low; normal: mean; lognormal: median
  double b = 0;  // uniform: high (inclusive); normal: sd; lognormal: sigma of ln
  /// Draws of normal and lognormal are clamped to this range, as guidellm and inference-perf do
  /// with their min and max.
  std::int64_t min = 1;
  std::int64_t max = kMaxTokens;
  std::string
      file{};  // empirical: file of lengths, see length_table.hpp; relative to the scenario file

  bool operator==(const LengthDistribution&) const = default;
};

inline LengthDistribution fixed_length(std::int64_t tokens) {
  return {.kind = LengthDistribution::Kind::fixed, .a = static_cast<double>(tokens)};
}

/// The accepted forms, for error messages.
inline constexpr const char* kLengthForms =
    "TOKENS, uniform:LOW:HIGH, normal:MEAN:SD[:MIN:MAX], lognormal:MEDIAN:SIGMA[:MIN:MAX] or "
    "empirical:FILE";

/// Parses "512", "uniform:100:900", "normal:512:64", "lognormal:512:0.8:16:4k",
/// "empirical:lengths.csv". Counts accept vLLM's suffixes (1k = 1000, 1K = 1024, and m and M).
/// Throws Error naming the text and the accepted forms.
LengthDistribution parse_length_distribution(const std::string& text);

/// The text that parse_length_distribution parses to the same value.
std::string to_text(const LengthDistribution& lengths);

}  // namespace roofcast

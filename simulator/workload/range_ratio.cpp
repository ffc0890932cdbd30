#include "simulator/workload/generate_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace roofcast {
namespace {

struct Range {
  double low = 0;
  double high = 0;
};

Range range_of(double length, double ratio, RangeRatio::Style style) {
  if (style == RangeRatio::Style::sglang) return {std::trunc(length * ratio), length};
  return {std::floor(length * (1 - ratio)), std::ceil(length * (1 + ratio))};
}

void check(double ratio, RangeRatio::Style style, const char* knob) {
  const bool vllm = style == RangeRatio::Style::vllm;
  if (ratio >= 0 && (vllm ? ratio < 1 : ratio <= 1)) return;
  throw Error(fmt::format("`range_ratio` of the {} length is {}, expected 0 to 1{}", knob, ratio,
                          vllm ? ", 1 excluded" : ""));
}

}  // namespace

LengthDistribution with_range(const LengthDistribution& lengths, const std::optional<double>& ratio,
                              RangeRatio::Style style, const char* knob) {
  if (!ratio) return lengths;
  check(*ratio, style, knob);
  if (lengths.kind != LengthDistribution::Kind::fixed) {
    throw Error(fmt::format("`range_ratio` of the {} length requires a fixed length, not {}", knob,
                            to_text(lengths)));
  }
  const Range range = range_of(lengths.a, *ratio, style);
  const double low = std::max(range.low, 1.0);
  if (range.high > static_cast<double>(kMaxTokens)) {
    throw Error(fmt::format("`range_ratio` of the {} length reaches {} tokens, expected at most {}",
                            knob, range.high, kMaxTokens));
  }
  if (low == range.high) return fixed_length(std::llround(low));
  return {.kind = LengthDistribution::Kind::uniform, .a = low, .b = range.high};
}

}  // namespace roofcast

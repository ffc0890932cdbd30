// The unit that suits the numbers of an axis.
#pragma once

#include <string>

namespace roofcast {

struct TimeUnit {
  const char* name = "s";
  double seconds = 1;

  double of(double value_s) const { return value_s / seconds; }
};

/// For an axis that ends at `longest_s`: µs below 1 ms, ms below 1.5 s, s below 10 min, min below
/// 4 h, else h.
TimeUnit unit_for(double longest_s);

/// "TTFT (ms)"
std::string with_unit(const std::string& name, const TimeUnit& unit);

}  // namespace roofcast

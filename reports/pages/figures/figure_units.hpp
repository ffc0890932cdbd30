// The unit that suits the numbers of an axis.
#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"

namespace roofcast {

struct TimeUnit {
  const char* name = "s";
  double seconds = 1;

  double of(double value_s) const { return value_s / seconds; }
};

/// Unit for an axis that ends at `longest_s`: µs below 1 ms, ms below 1.5 s, s below 10 min, min
/// below 4 h, else h.
TimeUnit unit_for(double longest_s);

struct SizeUnit {
  const char* name = "bytes";
  double bytes = 1;

  double of(double value) const { return value / bytes; }
};

/// Unit for a logarithmic axis over these sizes in bytes: kB, MB or GB, whichever is nearest to
/// their geometric middle.
SizeUnit size_unit_for(const std::vector<double>& sizes);

/// A limit that somebody chose: "500 ms", not "500.0 ms"; "1.5 s".
std::string limit_words(Seconds limit);

/// "TTFT (ms)"
std::string with_unit(const std::string& name, const TimeUnit& unit);

}  // namespace roofcast

// The pooled gaps between tokens (ITL), run-length encoded: in a decode batch all requests share
// one gap a step, so the log grows with steps, not with tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/time.hpp"

namespace roofcast {

struct GapCount {
  Nanoseconds gap = 0;
  std::int64_t count = 0;
};

/// One log per SLO class (one in all when there are no classes).
class TokenGaps {
 public:
  explicit TokenGaps(std::size_t classes) : by_class_(classes) {}

  void add(std::size_t slo_class, Nanoseconds gap) {
    std::vector<GapCount>& log = by_class_[slo_class];
    if (!log.empty() && log.back().gap == gap) {
      ++log.back().count;
    } else {
      log.push_back({gap, 1});
    }
  }

  /// Empty for a class that no request has.
  std::vector<GapCount> of_class(std::size_t slo_class) const;
  std::vector<GapCount> all() const;

 private:
  std::vector<std::vector<GapCount>> by_class_;
};

}  // namespace roofcast

// A count over time and its peak.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/time.hpp"

namespace roofcast {

class Level {
 public:
  /// Changes the count by `more` at `now`. Calls must be in order of time.
  void add(Nanoseconds now, std::int64_t more) {
    if (now > since_) peak_ = std::max(peak_, value_);
    since_ = now;
    value_ += more;
  }

  std::int64_t value() const { return value_; }

  /// Largest count that lasted for any time until `end`; counts that last for zero time are
  /// ignored.
  std::int64_t peak(Nanoseconds end) const {
    return end > since_ ? std::max(peak_, value_) : peak_;
  }

 private:
  Nanoseconds since_ = 0;
  std::int64_t value_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace roofcast

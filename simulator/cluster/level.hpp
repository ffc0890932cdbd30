// How many there are of something over time, and the most there were.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/time.hpp"

namespace roofcast {

class Level {
 public:
  /// At `now`, never before the last change, there are so many more, or fewer.
  void add(Nanoseconds now, std::int64_t more) {
    if (now > since_) peak_ = std::max(peak_, value_);
    since_ = now;
    value_ += more;
  }

  std::int64_t value() const { return value_; }

  /// The most there were for any time at all until `end`: what comes and goes in the same moment
  /// does not count.
  std::int64_t peak(Nanoseconds end) const {
    return end > since_ ? std::max(peak_, value_) : peak_;
  }

 private:
  Nanoseconds since_ = 0;
  std::int64_t value_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace roofcast

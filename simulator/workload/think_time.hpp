// Pause between the answer to one turn of a session and the next question.
#pragma once

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <string>

#include "simulator/random.hpp"
#include "simulator/time.hpp"

namespace roofcast {

/// Draws are clamped to the range from 0 to kLongestThinkTime.
struct ThinkTime {
  enum class Kind { fixed, uniform, exponential, normal, lognormal };
  Kind kind = Kind::fixed;
  double a = 0;  // seconds; fixed: the time; uniform: low; exponential, normal: mean;
                 // lognormal: median
  double b = 0;  // uniform: high (seconds); normal: sd (seconds); lognormal: sigma of ln

  bool operator==(const ThinkTime&) const = default;
};

inline constexpr double kLongestThinkTime = 30 * 86'400.0;  // seconds: a month

/// Parses "5", "uniform:1:10", "exponential:8", "normal:10:3", "lognormal:5:1" (seconds). Throws
/// Error naming the text and the accepted forms.
ThinkTime parse_think_time(const std::string& text);

/// The text that parse_think_time parses to the same value.
std::string to_text(const ThinkTime& time);

/// Draws think times from stream "think_times".
class ThinkTimeSampler {
 public:
  ThinkTimeSampler(const ThinkTime& time, std::uint64_t seed);
  Nanoseconds draw();

 private:
  double draw_seconds();

  ThinkTime time_;
  RandomStream random_;
  boost::random::normal_distribution<double> standard_;
  boost::random::exponential_distribution<double> exponential_;
};

}  // namespace roofcast

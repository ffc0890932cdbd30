#include "simulator/workload/arrival_gaps.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace roofcast {

UnitGaps::UnitGaps(double burstiness, std::uint64_t seed)
    : burstiness_(burstiness),
      random_(random_stream(seed, "arrivals")),
      gamma_(std::isinf(burstiness) ? 1.0 : burstiness, 1.0) {}

double UnitGaps::next() { return std::isinf(burstiness_) ? 1.0 : gamma_(random_) / burstiness_; }

Nanoseconds later_by(Nanoseconds time, double gap_s) {
  time += to_nanoseconds(Seconds{std::min(gap_s, to_seconds(kLongestSpan).value)});
  if (time > 2 * kLongestSpan) {
    throw Error(
        "arrivals span over twenty years: expected a higher request rate, or a burstiness "
        "nearer to 1");
  }
  return time;
}

void rescale(std::vector<Nanoseconds>& times, Nanoseconds target) {
  const Nanoseconds last = times.back();
  if (last == 0) return;
  for (Nanoseconds& time : times) {
    const double share = static_cast<double>(time) / static_cast<double>(last);
    time = std::llround(share * static_cast<double>(target));
  }
}

}  // namespace roofcast

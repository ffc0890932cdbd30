#include "planner/load/offered_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

#include "base/error.hpp"

namespace roofcast {
namespace {

constexpr double kLatestArrival = 9e18;  // ns: within the range of Nanoseconds

/// Arrivals of requests that do not follow another in a session.
struct Starts {
  std::int64_t count = 0;
  Nanoseconds first = 0;
  Nanoseconds last = 0;

  double span_s() const { return to_seconds(last - first).value; }
};

Starts starts_of(const Workload& workload) {
  Starts starts;
  for (const Request& request : workload.requests) {
    if (request.follows != kNoRequest) continue;
    starts.first = starts.count == 0 ? request.arrival : std::min(starts.first, request.arrival);
    starts.last = std::max(starts.last, request.arrival);
    ++starts.count;
  }
  return starts;
}

}  // namespace

Workload at_factor(const Workload& workload, double factor) {
  assert(std::isfinite(factor) && factor > 0);
  const Starts starts = starts_of(workload);
  if (starts.last <= starts.first) {
    throw Error("the load has no rate to scale: expected arrivals at different times");
  }
  if (static_cast<double>(starts.last) / factor > kLatestArrival) {
    throw Error(fmt::format("at {:g} times its rate the load would exceed the simulated time range",
                            factor));
  }
  Workload scaled = workload;
  for (Request& request : scaled.requests) {
    if (request.follows != kNoRequest) continue;
    request.arrival = std::llround(static_cast<double>(request.arrival) / factor);
  }
  return scaled;
}

Workload all_at_once(const Workload& workload) {
  Workload batch = workload;
  for (Request& request : batch.requests) {
    if (request.follows == kNoRequest) request.arrival = 0;
  }
  return batch;
}

double offered_rate_per_s(const Workload& workload) {
  const Starts starts = starts_of(workload);
  if (starts.last <= starts.first) return 0;
  const double turns =
      static_cast<double>(workload.requests.size()) / static_cast<double>(starts.count);
  return turns * static_cast<double>(starts.count - 1) / starts.span_s();
}

}  // namespace roofcast

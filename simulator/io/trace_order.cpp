#include "simulator/io/trace_order.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace roofcast {
namespace {

/// When each request's session begins; for a single request, its arrival.
std::vector<Nanoseconds> session_starts(const std::vector<Request>& requests) {
  std::vector<Nanoseconds> starts;
  starts.reserve(requests.size());
  for (const Request& request : requests) {
    const bool first = request.follows == kNoRequest;
    assert(first || static_cast<std::size_t>(request.follows) < starts.size());
    starts.push_back(first ? request.arrival : starts[static_cast<std::size_t>(request.follows)]);
  }
  return starts;
}

std::int64_t steps_back(const std::vector<Request>& requests) {
  std::int64_t steps = 0;
  Nanoseconds before = 0;
  for (const Request& request : requests) {
    if (request.follows != kNoRequest) continue;
    if (request.arrival < before) ++steps;
    before = request.arrival;
  }
  return steps;
}

}  // namespace

std::int64_t sort_by_arrival(std::vector<Request>& requests) {
  const std::int64_t steps = steps_back(requests);
  const std::vector<Nanoseconds> starts = session_starts(requests);
  if (std::is_sorted(starts.begin(), starts.end())) return steps;
  std::vector<RequestId> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](RequestId a, RequestId b) {
    return starts[static_cast<std::size_t>(a)] < starts[static_cast<std::size_t>(b)];
  });
  std::vector<RequestId> place(requests.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[static_cast<std::size_t>(order[i])] = static_cast<RequestId>(i);
  }
  std::vector<Request> sorted;
  sorted.reserve(requests.size());
  for (RequestId from : order) {
    sorted.push_back(requests[static_cast<std::size_t>(from)]);
    RequestId& follows = sorted.back().follows;
    if (follows != kNoRequest) follows = place[static_cast<std::size_t>(follows)];
  }
  requests = std::move(sorted);
  return steps;
}

}  // namespace roofcast

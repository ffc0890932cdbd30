#include "planner/mix/load_bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <string_view>
#include <utility>

#include "base/wording.hpp"
#include "planner/load/offered_load.hpp"
#include "simulator/io/trace_order.hpp"

namespace roofcast {
namespace {

std::string_view class_of(const Workload& workload, const Request& request) {
  if (workload.class_names.empty()) return {};
  return workload.class_names[static_cast<std::size_t>(request.slo_class)];
}

LoadBand band_of(const Workload& workload, PoolRoute route) {
  LoadBand band{.workload = workload};
  std::vector<Request>& taken = band.workload.requests;
  taken.clear();
  std::vector<RequestId> place(workload.requests.size(), kNoRequest);
  std::vector<Nanoseconds> sent(workload.requests.size());  // were answers given at once
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    const bool first = request.follows == kNoRequest;
    const auto before = static_cast<std::size_t>(request.follows);
    sent[i] = request.arrival + (first ? 0 : sent[before]);
    if (!takes(route, request.input_tokens, class_of(workload, request))) continue;
    place[i] = static_cast<RequestId>(taken.size());
    taken.push_back(request);
    if (first) continue;
    taken.back().follows = place[before];
    if (place[before] == kNoRequest) taken.back().arrival = sent[i];
  }
  sort_by_arrival(taken);
  band.share = static_cast<double>(taken.size()) / static_cast<double>(workload.requests.size());
  band.route = std::move(route);
  return band;
}

/// Requests and their tokens by prompt length.
struct Length {
  std::int64_t requests = 0;
  double tokens = 0;
};

/// The longest prompt of every band but the last.
std::vector<std::int64_t> cuts_of(const Workload& workload, std::size_t count) {
  std::map<std::int64_t, Length> lengths;
  double all = 0;
  for (const Request& request : workload.requests) {
    Length& length = lengths[request.input_tokens];
    const auto tokens = static_cast<double>(request.input_tokens + request.output_tokens);
    ++length.requests;
    length.tokens += tokens;
    all += tokens;
  }
  std::vector<std::int64_t> cuts;
  const double each = all / static_cast<double>(count);
  Length band;
  auto left = std::ssize(workload.requests);
  std::int64_t longest = 0;  // of the band so far
  for (const auto& [tokens, length] : lengths) {
    const bool enough = band.requests >= kMinBandRequests && left >= kMinBandRequests;
    const bool nearer_without = band.tokens + length.tokens - each > each - band.tokens;
    if (enough && nearer_without && cuts.size() + 1 < count) {
      cuts.push_back(longest);
      band = {};
    }
    band.requests += length.requests;
    band.tokens += length.tokens;
    left -= length.requests;
    longest = tokens;
  }
  return cuts;
}

}  // namespace

std::vector<LoadBand> bands_by_length(const Workload& workload, std::size_t count) {
  return bands_within(workload, {}, count);
}

std::vector<LoadBand> bands_within(const Workload& workload, const PoolRoute& route,
                                   std::size_t count) {
  std::vector<LoadBand> bands;
  PoolRoute next = route;
  for (const std::int64_t cut : cuts_of(band_of(workload, route).workload, count)) {
    next.max_input_tokens = cut;
    bands.push_back(band_of(workload, next));
    next.min_input_tokens = cut + 1;
  }
  next.max_input_tokens = route.max_input_tokens;
  bands.push_back(band_of(workload, next));
  return bands;
}

std::vector<LoadBand> bands_by_class(const Workload& workload) {
  std::vector<LoadBand> bands;
  for (const std::string& name : workload.class_names) {
    LoadBand band = band_of(workload, {.classes = {name}});
    if (!band.workload.requests.empty()) bands.push_back(std::move(band));
  }
  return bands;
}

std::vector<LoadBand> joined_bands(const Workload& workload, std::vector<LoadBand> bands) {
  for (std::size_t i = 0; i < bands.size() && bands.size() > 1;) {
    if (why_not_alone(bands[i]).empty()) {
      ++i;
      continue;
    }
    const std::size_t low = i == 0 ? 0 : i - 1;
    bands[low] = band_of(workload, joined_route({bands[low].route, bands[low + 1].route}));
    bands.erase(bands.begin() + static_cast<std::ptrdiff_t>(low) + 1);
    i = low;
  }
  return bands;
}

std::string why_not_alone(const LoadBand& band) {
  const std::int64_t requests = std::ssize(band.workload.requests);
  if (requests < kMinBandRequests) {
    return fmt::format("has {}, of at least {} that a pool is chosen by",
                       counted(requests, "request"), kMinBandRequests);
  }
  return offered_rate_per_s(band.workload) > 0
             ? ""
             : "has no rate, as all its requests arrive at one time";
}

PoolRoute joined_route(const std::vector<PoolRoute>& routes) {
  assert(!routes.empty());
  PoolRoute joined{.min_input_tokens = routes.front().min_input_tokens,
                   .max_input_tokens = routes.back().max_input_tokens};
  for (const PoolRoute& route : routes) {
    joined.classes.insert(joined.classes.end(), route.classes.begin(), route.classes.end());
  }
  return joined;
}

}  // namespace roofcast

// A load cut into bands that a router can tell apart: by the length of the prompt, or by request
// class.
#pragma once

#include <string>
#include <vector>

#include "simulator/cluster/cluster.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// The requests that a route takes, at the times at which they arrive. Of sessions, whose prompts
/// grow, the turns that the route takes: one that follows a turn of another band is a start, at the
/// session's start and the pauses since (the time that answers take is left out).
struct LoadBand {
  PoolRoute route{};
  Workload workload{};
  double share = 0;  // of all requests
};

/// Up to `count` bands of consecutive prompt lengths with about equal numbers of tokens, prompt and
/// output; every band has at least kMinBandRequests. Fewer if lengths repeat; one if all prompts
/// are equally long. The first band is open below and the last above, so that any prompt has one.
std::vector<LoadBand> bands_by_length(const Workload& workload, std::size_t count);

/// The requests that `route` takes in up to `count` bands, as above.
std::vector<LoadBand> bands_within(const Workload& workload, const PoolRoute& route,
                                   std::size_t count);

/// One per request class that has requests.
std::vector<LoadBand> bands_by_class(const Workload& workload);

/// The same bands, where one whose capacity cannot be found goes to the band before it (the first
/// to the next): it has fewer than kMinBandRequests, or no rate as all arrive at one time. At least
/// one. `workload` is that of all bands.
std::vector<LoadBand> joined_bands(const Workload& workload, std::vector<LoadBand> bands);

/// Why the band has no pool of its own: "has 12 requests, of at least 50 that a pool is chosen by".
/// Empty if it may have one.
std::string why_not_alone(const LoadBand& band);

/// The route of neighbouring bands together, or of several classes. Precondition: not empty; bands
/// by length are in order.
PoolRoute joined_route(const std::vector<PoolRoute>& routes);

inline constexpr std::int64_t kMinBandRequests = 50;

}  // namespace roofcast

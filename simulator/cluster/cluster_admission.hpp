// Requests that a cluster can never serve, and pools that a request must not be sent to.
#pragma once

#include <string>
#include <vector>

#include "simulator/cluster/cluster.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

/// By pool, by request: refused there. No pools when each serves all requests that are not
/// rejected.
using Refusals = std::vector<std::vector<bool>>;

struct ClusterAdmission {
  Refusals refused{};
  std::vector<std::string> notes{};
};

/// Marks the requests that no pool can serve, and those that follow them, as rejected, and says
/// why. A prefill replica needs to hold the prompt alone.
ClusterAdmission admit(std::vector<RequestRecord>& records, const Cluster& cluster);

}  // namespace roofcast

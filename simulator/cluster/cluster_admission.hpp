// Finds requests that a cluster can never serve, and pools to which a request must not be sent.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simulator/cluster/cluster.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

/// [pool][request]: the pool refuses the request. Empty if every pool serves all requests that are
/// not rejected.
using Refusals = std::vector<std::vector<bool>>;

struct ClusterAdmission {
  Refusals refused{};
  std::vector<std::string> notes{};
};

/// Marks as rejected the requests that no pool can serve, or that are routed to none, and those
/// that follow them, and returns the reasons. A prefill replica needs to hold only the prompt.
/// `classes` are those of the requests (Workload::class_names). Throws Error for a route of a class
/// that is not among them.
ClusterAdmission admit(std::vector<RequestRecord>& records, const Cluster& cluster,
                       std::span<const std::string> classes = {});

}  // namespace roofcast

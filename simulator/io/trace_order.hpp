// The order of a trace's requests.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Sorts requests by arrival, ties in file order; those that follow another (an earlier one in
/// `requests`) go where the first turn of their session goes, behind it. Says how many requests
/// arrived before the one in front of them.
std::int64_t sort_by_arrival(std::vector<Request>& requests);

}  // namespace roofcast

// Orders a trace's requests.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Sorts requests by arrival, ties in file order. Those that follow another (an earlier one in
/// `requests`) are placed after the first turn of their session, by its arrival. Returns how many
/// requests arrived before the one preceding them.
std::int64_t sort_by_arrival(std::vector<Request>& requests);

}  // namespace roofcast

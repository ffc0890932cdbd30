// A long load by the hour: its busiest hour, parts of it, and how many replicas follow it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// What arrives in an hour, counted from the first arrival.
struct LoadHour {
  double start_s = 0;  // from the first arrival
  std::int64_t requests = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
};

/// Whether the load can be cut into hours: no request follows another, none is a warm-up.
bool has_hours(const Workload& workload);

/// Every hour from the first arrival to the last, the last one as far as it goes. Precondition:
/// has_hours().
std::vector<LoadHour> load_by_hour(const Workload& workload);

/// An hour's load beside that of `busiest`: the largest of its ratios of requests, prompt tokens
/// and generated tokens.
double relative_load(const LoadHour& hour, const LoadHour& busiest);

/// The hour with the most tokens, prompt and generated tokens each weighed by their own mean hour,
/// as either may be what binds. Precondition: not empty.
std::size_t busiest_hour(std::span<const LoadHour> hours);

/// The requests that arrive in `count` hours from the one of that index on, from time 0. Later
/// requests are left out, and so is what the hours before have left in the system.
Workload hours_of(const Workload& workload, std::size_t first, std::size_t count);

/// Units needed in each hour so that each has the share of a unit that it has in the busiest hour
/// of `units`: at least one, and those of the next hour too, which start ahead of it.
std::vector<std::int64_t> units_by_hour(std::span<const LoadHour> hours, std::int64_t units);

}  // namespace roofcast

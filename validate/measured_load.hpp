// The load of a run that another tool measured: as described in its file, and its recorded
// requests.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "reports/measured_run.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Whether the run states how its requests arrived: at a rate (infinite: all at once), at a fixed
/// concurrency, or each at its own time. The achieved rate does not imply the requested one.
bool says_load(const MeasuredRun& run);

/// Whether the run states the number of requests, if that matters: many that arrive at once wait
/// for each other.
bool says_requests(const MeasuredRun& run);

/// A synthetic workload under the keys of a scenario file: mean lengths, requests and rate, and the
/// variation of lengths and gaps if the run states it. If it states only means, all requests have
/// the mean length and gaps are exponential.
nlohmann::json drawn_load(const MeasuredRun& run);

/// The workload under the keys of a scenario file: the run's own requests if it has them (a trace
/// named after the run's origin), else drawn_load's; nullopt if lengths are unknown. Meaningful to
/// simulate only if says_load.
std::optional<nlohmann::json> workload_of(const MeasuredRun& run);

/// The run's requests as sent by the client. In a closed loop without a rate, all exist at the
/// start and wait for the concurrency limit; without arrival times they are drawn at the run's
/// rate. Leaves out failed requests. Returns nullopt if the run recorded no requests. Throws Error
/// for impossible times and lengths.
std::optional<Workload> recorded_workload(const MeasuredRun& run);

}  // namespace roofcast

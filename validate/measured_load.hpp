// The load of a run that another tool measured: what its file says of it, and its own requests.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "reports/measured_run.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Whether the run says how its requests came: at a rate (which may be infinite: all at once), so
/// many at a time, or each at its own time. The rate that was achieved says nothing of the one that
/// was asked for.
bool says_load(const MeasuredRun& run);

/// Whether the run says how many requests there were, where that decides: many that come at once
/// wait for each other.
bool says_requests(const MeasuredRun& run);

/// A synthetic workload under the keys of a scenario file: mean lengths, requests and rate, and how
/// lengths and gaps vary about them, as far as the run says it. Where it says a mean alone, all
/// requests are of that length and gaps are exponential.
nlohmann::json drawn_load(const MeasuredRun& run);

/// The workload under the keys of a scenario file: the run's own requests where it has them (a
/// trace named by the run's origin), else drawn_load's; nothing where lengths are not known.
/// Precondition for a load worth simulating: says_load.
std::optional<nlohmann::json> workload_of(const MeasuredRun& run);

/// The run's requests as they left the client. Those of a closed loop without a rate are all there
/// at the start and wait for its limit; without arrival times they are drawn at the run's rate.
/// Failed ones are left out. Nothing where the run keeps no requests. Throws Error for times and
/// lengths that no server saw.
std::optional<Workload> recorded_workload(const MeasuredRun& run);

}  // namespace roofcast

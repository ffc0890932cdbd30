// Metrics of a run computed from its requests, for formats that keep nothing else.
#pragma once

#include "reports/measured_run.hpp"

namespace roofcast {

/// Removes times that are not finite. Throws Error if a request has no arrival time.
void check_requests(MeasuredRun& run);

/// Sorts the run's requests by arrival, makes times relative to the first arrival, and adds metrics
/// derived from them: latencies, makespan (first arrival to last token), rates, mean lengths, and
/// the number of failed requests (those without a last token). Existing metrics are kept. Throws
/// Error if there are no requests, and as check_requests.
void finish_request_run(MeasuredRun& run);

}  // namespace roofcast

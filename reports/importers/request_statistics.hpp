// A run out of its requests, for formats that keep nothing else.
#pragma once

#include "reports/measured_run.hpp"

namespace roofcast {

/// Leaves out times that are not finite. Throws Error where a request has no time of arrival.
void check_requests(MeasuredRun& run);

/// Orders the run's requests by arrival, makes times relative to the first, and adds what follows
/// from them: latencies, makespan (first arrival to last token), rates, mean lengths, the requests
/// that have no last token as failed. What is there already stays. Throws Error where there are no
/// requests, and as check_requests.
void finish_request_run(MeasuredRun& run);

}  // namespace roofcast

// Writes a workload as a trace that trace_reader reads back to the same requests.
#pragma once

#include <iosfwd>

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// CSV with a header: arrival_s (to the nanosecond), input_tokens, output_tokens; class and
/// priority where the workload has them. The reader counts time from the first arrival.
void write_trace_csv(const Workload& workload, std::ostream& out);

}  // namespace roofcast

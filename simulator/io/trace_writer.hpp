// Writes a workload as a trace that trace_reader reads to the same requests.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// CSV with a header: arrival_s (to the nanosecond), input_tokens, output_tokens; class, priority,
/// session_id and delay_ms if the workload has them. A turn that follows another has a delay and no
/// arrival. The reader makes times relative to the first arrival.
void write_trace_csv(const Workload& workload, std::ostream& out);

/// JSONL with Mooncake's keys: timestamp (milliseconds), input_length, output_length; hash_ids if
/// contents are blocks of 512 tokens; session_id and delay (aiperf's), class and priority.
void write_trace_jsonl(const Workload& workload, std::ostream& out);

/// Properties of a workload that such a file does not preserve, for the user.
std::vector<std::string> lost_in_csv(const Workload& workload);
std::vector<std::string> lost_in_jsonl(const Workload& workload);

}  // namespace roofcast

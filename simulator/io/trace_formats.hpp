// One reader a format: each puts the requests of a file into a TraceBuilder.
#pragma once

#include "base/io/byte_source.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// CSV with a header: columns are found by name, in any order; further ones are left alone.
Workload read_trace_csv(ByteSource& bytes, const TraceWorkload& spec);

/// One JSON object a line: Mooncake's keys, aiperf's mooncake_trace (session_id, delay), the
/// agentic traces' t, in, out, and whatever other names trace_columns knows. The first key of a row
/// that names a column is its key in the whole file. "timestamp" counts milliseconds, as in
/// Mooncake's.
Workload read_trace_jsonl(ByteSource& bytes, const TraceWorkload& spec);

/// The detailed result of a benchmark: arrays input_lens and output_lens, one entry a request, and
/// start_times (seconds) where the file has them; else requests are spaced by its request_rate.
Workload read_trace_bench(ByteSource& bytes, const TraceWorkload& spec);

}  // namespace roofcast

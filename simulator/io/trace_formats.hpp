// One reader per format; each feeds the requests of a file into a TraceBuilder.
#pragma once

#include "base/io/byte_source.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Deepest nesting of a JSON trace.
inline constexpr int kMaxTraceDepth = 32;

/// CSV with a header: columns are found by name, in any order; unknown ones are ignored.
Workload read_trace_csv(ByteSource& bytes, const TraceWorkload& spec);

/// One JSON object per line: Mooncake's keys, aiperf's mooncake_trace (session_id, delay), t, in,
/// out of the agentic traces, and all other names in trace_columns. The first key in a row that
/// names a column is used for that column in the whole file. "timestamp" is in milliseconds, as in
/// Mooncake's.
Workload read_trace_jsonl(ByteSource& bytes, const TraceWorkload& spec);

/// Detailed benchmark result: arrays input_lens and output_lens, one entry per request, and
/// start_times (seconds) if present; otherwise requests are spaced by the file's request_rate.
Workload read_trace_bench(ByteSource& bytes, const TraceWorkload& spec);

}  // namespace roofcast

// Traces from CSV files, plain or gzip-compressed: Azure LLM 2023/2024, or arrival, input, output.
#pragma once

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Columns are found by name: TIMESTAMP, ContextTokens, GeneratedTokens (Azure); or arrival /
/// arrival_s / timestamp (seconds), input / input_tokens / input_length, output / ... and
/// optionally class and priority. Rows are sorted by time (stable), the first arrival becomes 0.
/// Throws Error naming file and line for a bad row unless skip_bad_rows; for an empty trace; for
/// missing columns, listing those found.
Workload read_trace(const TraceWorkload& spec);

}  // namespace roofcast

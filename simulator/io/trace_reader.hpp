// Traces from files, plain or gzip-compressed, whatever tool wrote them.
#pragma once

#include <istream>

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// The format is spec.format or told by the first bytes: a JSON object with a benchmark result's
/// keys, other JSON, else CSV (trace_formats.hpp says what each may hold). Requests are sorted by
/// time (stable), the first arrival becomes 0; of Mooncake's hash_ids come Workload::contents, of
/// session_id and delay Request::follows. Throws Error naming file and line for a bad row unless
/// skip_bad_rows; for a trace without requests; for missing columns, naming those found.
Workload read_trace(const TraceWorkload& spec);

/// The same from memory or any stream; spec.path stands for the file in messages.
Workload read_trace(const TraceWorkload& spec, std::istream& stream);

}  // namespace roofcast

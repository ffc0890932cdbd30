// Reads trace files, plain or gzip-compressed, in any of the supported formats.
#pragma once

#include <istream>
#include <string>

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// FNV-1a of the file as it is, in hexadecimal; empty if it cannot be read.
std::string trace_hash(const TraceWorkload& spec);

/// The format is spec.format, or detected from the first bytes: a JSON object with the keys of a
/// benchmark result, other JSON, else CSV (trace_formats.hpp describes them). Requests are sorted
/// by time (stable), with the first arrival at 0. Mooncake's hash_ids become Workload::contents,
/// session_id and delay become Request::follows. Throws Error naming file and line for a bad row
/// unless skip_bad_rows is set; for a trace without requests; and for missing columns, naming those
/// found.
Workload read_trace(const TraceWorkload& spec);

/// Reads from a stream; spec.path is used as the file name in messages.
Workload read_trace(const TraceWorkload& spec, std::istream& stream);

}  // namespace roofcast

// Reads the files of empirical lengths: CSV with a header, plain or gzip-compressed. Columns
// `input` and `output`, or other names that traces use (trace_columns.hpp), hold pairs; a column
// `tokens` holds single lengths; `count` says how often each was observed (default 1). Rows with a
// length of 0 are left out and counted.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "simulator/workload/length_table.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// Throws Error naming file and line.
LengthTable read_length_table(const std::string& file);

/// The files of all empirical lengths of a workload, each listed once.
std::vector<std::string> length_files(const SyntheticWorkload& workload);

/// Reads these files.
std::vector<LengthTable> read_length_tables(const SyntheticWorkload& workload);

/// Paths are relative to `folder`; makes them relative to the current directory.
void resolve_length_files(SyntheticWorkload& workload, const std::filesystem::path& folder);

}  // namespace roofcast

// The files that empirical lengths name: CSV, plain or gzip-compressed, with a header. Columns
// `input` and `output`, or as traces call them (trace_columns.hpp), hold pairs, a column `tokens`
// single lengths; `count` says how often each was seen (1 where there is none). Rows with a length
// of 0 are left out and counted.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "simulator/workload/length_table.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// Throws Error naming file and line.
LengthTable read_length_table(const std::string& file);

/// Of all empirical lengths of a workload, each once.
std::vector<std::string> length_files(const SyntheticWorkload& workload);

/// What these files hold.
std::vector<LengthTable> read_length_tables(const SyntheticWorkload& workload);

/// Makes the files' paths, which are relative to `folder`, relative to the current directory.
void resolve_length_files(SyntheticWorkload& workload, const std::filesystem::path& folder);

}  // namespace roofcast

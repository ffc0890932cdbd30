// The files that empirical lengths name: CSV, plain or gzip-compressed, with a header. Columns
// `input` and `output` (or as a trace calls them: input_tokens, ContextTokens ...) hold pairs, a
// column `tokens` single lengths; `count` says how often each was seen (1 where there is none).
#pragma once

#include <filesystem>
#include <vector>

#include "simulator/workload/length_table.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// Throws Error naming file and line.
LengthTable read_length_table(const std::string& file);

/// The files of all empirical lengths of a workload, each once.
std::vector<LengthTable> read_length_tables(const SyntheticWorkload& workload);

/// Makes the files' paths, which are relative to `folder`, relative to the current directory.
void resolve_length_files(SyntheticWorkload& workload, const std::filesystem::path& folder);

}  // namespace roofcast

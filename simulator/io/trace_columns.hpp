// Which column of a trace holds what, found by the names that tools use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "simulator/io/line_reader.hpp"

namespace roofcast {

struct TraceColumns {
  std::size_t count = 0;
  std::size_t time = 0, input = 0, output = 0;
  std::optional<std::size_t> slo_class, priority;
  std::string time_name, input_name, output_name;  // as written in the file
};

/// Reads the header: the first line that is not blank. Throws Error when there is none, or when a
/// column is missing, with those found.
TraceColumns read_trace_columns(LineReader& lines, const std::string& path);

}  // namespace roofcast

// The columns that a trace may have for each request, and the names that tools use for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/workload/trace_workload.hpp"

namespace roofcast {

enum class TraceColumn : std::size_t {
  time,        // of arrival
  input,       // prompt tokens
  output,      // generated tokens
  max_tokens,  // output limit that the client declared; 0 or none: it declared none
  slo_class,   // any text
  priority,    // smaller first
  session,     // turns of one session may follow each other
  delay,       // pause after the answer to the session's previous request, in milliseconds
  hash_ids     // contents of the prompt's blocks
};
inline constexpr std::size_t kTraceColumns = 9;

/// One request as the file has it.
struct TraceRow {
  std::array<std::string, kTraceColumns> texts;  // unused for hash_ids
  std::array<bool, kTraceColumns> present{};     // whether the row has it
  std::vector<std::uint64_t> hash_ids;

  const std::string& text(TraceColumn column) const {
    return texts[static_cast<std::size_t>(column)];
  }
  bool has(TraceColumn column) const { return present[static_cast<std::size_t>(column)]; }
  void set(TraceColumn column, std::string_view text) {
    texts[static_cast<std::size_t>(column)] = text;
    present[static_cast<std::size_t>(column)] = true;
  }
  void clear() {
    present.fill(false);
    hash_ids.clear();
  }
};

/// The column for a name in a file: from `renamed`, else from the known names. Comparison ignores
/// case, treats blanks as underscores, and for times ignores a unit suffix ("arrival_ms").
std::optional<TraceColumn> column_called(std::string_view name, const TraceColumnNames& renamed);

/// The user's name for a column; empty if the known names apply.
const std::string& name_given(TraceColumn column, const TraceColumnNames& renamed);

/// The unit suffix of a column's name, as in "arrival_ms"; nullopt if there is none.
std::optional<TraceTimeUnit> unit_in_name(std::string_view name);

/// Letters in lower case, blanks as underscores.
std::string normalised_name(std::string_view name);

}  // namespace roofcast

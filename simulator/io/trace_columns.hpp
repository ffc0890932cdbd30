// What a trace tells about a request, and the names that tools give it.
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
  time,       // of arrival
  input,      // prompt tokens
  output,     // generated tokens
  slo_class,  // any text
  priority,   // smaller first
  session,    // requests of one session may follow each other
  delay,      // pause after the answer to the session's request before, in milliseconds
  hash_ids    // what the blocks of the prompt hold
};
inline constexpr std::size_t kTraceColumns = 8;

/// One request as a file has it.
struct TraceRow {
  std::array<std::string, kTraceColumns> texts;  // of hash_ids: nothing
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

/// The column that a name in a file stands for: by `renamed`, else by the known names, which are
/// compared without regard to case, blanks taken as underscores, and for times without a unit
/// ("arrival_ms").
std::optional<TraceColumn> column_called(std::string_view name, const TraceColumnNames& renamed);

/// What the user calls a column; nothing for one that goes by the known names.
const std::string& name_given(TraceColumn column, const TraceColumnNames& renamed);

/// The unit at the end of a column's name, "arrival_ms"; nothing when there is none.
std::optional<TraceTimeUnit> unit_in_name(std::string_view name);

/// Letters in lower case, blanks as underscores.
std::string normalised_name(std::string_view name);

}  // namespace roofcast

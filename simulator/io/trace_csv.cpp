// Reads CSV traces: Azure LLM 2023 and 2024, Azure LMM 2025, BurstGPT, and any with known columns.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/io/csv.hpp"
#include "base/io/line_reader.hpp"
#include "base/io/shown.hpp"
#include "simulator/io/trace_builder.hpp"
#include "simulator/io/trace_formats.hpp"

namespace roofcast {
namespace {

using Header = std::vector<std::string>;

/// Index of each column; nullopt if the file does not have it.
using Places = std::array<std::optional<std::size_t>, kTraceColumns>;

std::optional<std::size_t>& place_of(Places& places, TraceColumn column) {
  return places[static_cast<std::size_t>(column)];
}

Header read_header(LineReader& lines, const TraceWorkload& spec) {
  std::string_view line;
  if (!lines.next_filled(line)) {
    throw Error(spec.path + ": is empty, expected one line per request (CSV: below a header line)");
  }
  Header header;
  if (!split_csv(line, header)) {
    throw Error(fmt::format("{}:{}: unclosed quote", spec.path, lines.line_number()));
  }
  return header;
}

std::string shown_header(const Header& header) {
  return shown(fmt::format("{}", fmt::join(header, ", ")), 200);
}

/// A column that the user names must exist, even if the simulation does not need it.
void refuse_absent(const Places& places, const Header& header, const TraceWorkload& spec,
                   std::int64_t line) {
  for (std::size_t i = 0; i < kTraceColumns; ++i) {
    const std::string& name = name_given(static_cast<TraceColumn>(i), spec.columns);
    if (name.empty() || places[i]) continue;
    throw Error(fmt::format(
        "{}:{}: no column '{}', as named by `trace_columns` or workload.columns; found {}",
        spec.path, line, shown(name), shown_header(header)));
  }
}

Places find_columns(const Header& header, const TraceWorkload& spec, std::int64_t line) {
  Places places;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto column = column_called(header[i], spec.columns);
    if (column && !place_of(places, *column)) place_of(places, *column) = i;
  }
  refuse_absent(places, header, spec, line);
  // A session without delays links no requests: they arrive at their own times.
  if (!place_of(places, TraceColumn::delay)) place_of(places, TraceColumn::session).reset();
  place_of(places, TraceColumn::hash_ids).reset();  // lists do not fit in a cell
  const bool timed = place_of(places, TraceColumn::time).has_value();
  const bool fed = place_of(places, TraceColumn::input).has_value();
  if (timed && fed && place_of(places, TraceColumn::output)) return places;
  throw Error(fmt::format(
      "{}:{}: no column for {}: expected TIMESTAMP, ContextTokens, GeneratedTokens or arrival_s, "
      "input_tokens, output_tokens; found {}",
      spec.path, line,
      !timed ? "a time"
      : !fed ? "an input"
             : "an output",
      shown_header(header)));
}

/// Notes the file's columns that the simulation does not use.
void note_unused(const Header& header, const Places& places, const TraceColumnNames& renamed,
                 TraceBuilder& trace) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name = normalised_name(header[i]);
    const bool used = std::find(places.begin(), places.end(), i) != places.end();
    if (used) continue;
    if (name == "numimages") {  // Azure LMM 2025
      trace.note("column " + header[i] + " is not used: images count only as prompt tokens");
    }
    if (column_called(header[i], renamed) == TraceColumn::hash_ids) {
      trace.note("column " + shown(header[i]) +
                 " is not used: only JSONL traces share blocks; here no two prompts share one");
    }
    if (name == "session_id") {  // BurstGPT, third file
      trace.note("column " + header[i] +
                 " is not used: requests arrive at their own times and share no prefix");
    }
  }
}

void fill_row(const std::vector<std::string>& fields, const Places& places, TraceRow& row) {
  row.clear();
  for (std::size_t i = 0; i < kTraceColumns; ++i) {
    if (!places[i]) continue;
    const auto column = static_cast<TraceColumn>(i);
    const std::string& field = fields[*places[i]];
    // Turns after the first have a delay but no time; single requests have no session.
    const bool may_lack =
        column == TraceColumn::max_tokens || column == TraceColumn::session ||
        column == TraceColumn::delay ||
        (column == TraceColumn::time && places[static_cast<std::size_t>(TraceColumn::session)]);
    if (!field.empty() || !may_lack) row.set(column, field);
  }
}

}  // namespace

Workload read_trace_csv(ByteSource& bytes, const TraceWorkload& spec) {
  LineReader lines(bytes);
  const Header header = read_header(lines, spec);
  const Places places = find_columns(header, spec, lines.line_number());
  TraceBuilder trace(spec);
  for (std::size_t i = 0; i < kTraceColumns; ++i) {
    if (places[i]) trace.name_column(static_cast<TraceColumn>(i), header[*places[i]]);
  }
  note_unused(header, places, spec.columns, trace);
  TraceRow row;
  std::vector<std::string> fields;
  std::string_view line;
  while (lines.next_filled(line)) {
    if (trace.is_full()) return trace.finish(true);
    const std::int64_t place = lines.line_number();
    if (!split_csv(line, fields)) {
      trace.reject(place, "unclosed quote");
    } else if (fields.size() != header.size()) {
      trace.reject(place, fmt::format("{} fields, expected {}", fields.size(), header.size()));
    } else {
      fill_row(fields, places, row);
      trace.add(row, place);
    }
  }
  return trace.finish(false);
}

}  // namespace roofcast

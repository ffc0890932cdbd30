#include "simulator/io/length_table_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/csv.hpp"
#include "base/io/line_reader.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"
#include "simulator/io/trace_columns.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMaxRows = 10'000'000;
constexpr std::int64_t kMaxCount = 100'000'000'000;  // multiplied by kMaxRows this still fits 64
                                                     // bits

/// Column index of each value.
struct Columns {
  std::size_t input = 0;
  std::size_t output = 0;  // equal to input if there is one column of lengths
  std::optional<std::size_t> count;
  std::size_t fields = 0;
};

/// The first column with a matching name.
template <class Predicate>
std::optional<std::size_t> find_column(const std::vector<std::string>& header,
                                       Predicate is_called) {
  const auto found = std::find_if(header.begin(), header.end(), is_called);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

Columns find_columns(const std::vector<std::string>& header, const std::string& file) {
  const auto column = [&](TraceColumn wanted) {
    return find_column(
        header, [&](const std::string& title) { return column_called(title, {}) == wanted; });
  };
  const auto named = [&](std::string_view name) {
    return find_column(header,
                       [&](const std::string& title) { return normalised_name(title) == name; });
  };
  const auto input = column(TraceColumn::input);
  const auto output = column(TraceColumn::output);
  const auto single = named("tokens");
  const bool paired = input && output;
  if (!paired && !single) {
    throw Error(
        fmt::format("{}:1: no length columns, expected a header with input and output, or with "
                    "tokens; found {}",
                    file, shown(fmt::format("{}", fmt::join(header, ", ")), 200)));
  }
  return {.input = paired ? *input : *single,
          .output = paired ? *output : *single,
          .count = named("count"),
          .fields = header.size()};
}

std::int64_t read_integer(const std::string& text, std::int64_t min, std::int64_t max,
                          const std::string& where) {
  const auto number = to_number<std::int64_t>(text);
  if (!number || *number < min || *number > max) {
    throw Error(
        fmt::format("{}: '{}' is not a length or count, expected a whole number from {} to {}",
                    where, text.substr(0, 40), min, max));
  }
  return *number;
}

LengthRow read_row(const std::vector<std::string>& fields, const Columns& columns,
                   const std::string& where) {
  LengthRow row{.input_tokens = read_integer(fields[columns.input], 0, kMaxTokens, where),
                .output_tokens = read_integer(fields[columns.output], 0, kMaxTokens, where)};
  if (columns.count) row.count = read_integer(fields[*columns.count], 0, kMaxCount, where);
  return row;
}

/// Calls `function` with every length distribution of a workload.
template <class Function>
void for_each_lengths(SyntheticWorkload& workload, Function function) {
  function(workload.input);
  function(workload.output);
  if (workload.shared_prefix) function(workload.shared_prefix->system_prompt);
  if (!workload.sessions) return;
  function(workload.sessions->turns);
  if (workload.sessions->first_input) function(*workload.sessions->first_input);
}

}  // namespace

LengthTable read_length_table(const std::string& file) {
  ByteSource source(file);
  LineReader lines(source);
  std::string_view line;
  std::vector<std::string> fields;
  if (!lines.next_filled(line) || !split_csv(line, fields)) {
    throw Error(fmt::format("{}: has no header, expected input,output or tokens", file));
  }
  const Columns columns = find_columns(fields, file);
  LengthTable table{.file = file, .paired = columns.input != columns.output, .rows = {}};
  while (lines.next_filled(line)) {
    const std::string where = fmt::format("{}:{}", file, lines.line_number());
    if (!split_csv(line, fields) || fields.size() != columns.fields) {
      throw Error(
          fmt::format("{}: has {} fields, expected {}", where, fields.size(), columns.fields));
    }
    const LengthRow row = read_row(fields, columns, where);
    const bool empty = row.input_tokens == 0 || row.output_tokens == 0;
    if (empty) ++table.empty_rows;
    if (!empty && row.count > 0) table.rows.push_back(row);
    if (table.rows.size() > kMaxRows) {
      throw Error(fmt::format("{}: more than {} rows of lengths", where, kMaxRows));
    }
  }
  if (table.rows.empty()) throw Error(fmt::format("{}: contains no lengths", file));
  return table;
}

std::vector<std::string> length_files(const SyntheticWorkload& workload) {
  std::vector<std::string> files;
  SyntheticWorkload copy = workload;
  for_each_lengths(copy, [&](const LengthDistribution& lengths) {
    if (lengths.kind != LengthDistribution::Kind::empirical) return;
    const bool known = std::find(files.begin(), files.end(), lengths.file) != files.end();
    if (!known) files.push_back(lengths.file);
  });
  return files;
}

std::vector<LengthTable> read_length_tables(const SyntheticWorkload& workload) {
  std::vector<LengthTable> tables;
  for (const std::string& file : length_files(workload)) tables.push_back(read_length_table(file));
  return tables;
}

void resolve_length_files(SyntheticWorkload& workload, const std::filesystem::path& folder) {
  for_each_lengths(workload, [&](LengthDistribution& lengths) {
    if (lengths.kind != LengthDistribution::Kind::empirical) return;
    lengths.file = (folder / lengths.file).lexically_normal().string();
  });
}

}  // namespace roofcast

// The answer of a command before it is formatted: one JSON object for programs, sections for
// readers. Every command fills a Document and prints it as --output asks; writers only format.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "reports/cells.hpp"

namespace roofcast {

struct Column {
  std::string title;  // unit in the title: "TTFT (ms)"
  bool right = true;  // numbers right, text left
};

/// A table whose cells already have the units and digits that readers see. Every row has one cell
/// per column. If no column has a title it is a list of names and values, printed without a header.
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// False for a list of names and values.
bool has_titles(const Table& table);

/// A heading, sentences, then at most one table.
struct Section {
  std::string heading;
  std::vector<std::string> lines;
  Table table;
  Table spreadsheet{};  // in place of `table` in CSV, if it has columns: one figure a cell
};

/// The cells' texts, a list a row, as pages take them.
Json rows_json(const Table& table);

struct Document {
  Json machine;  // keys as in docs/output.md, SI units in the names; finite numbers only
  std::vector<Section> sections;
};

enum class OutputFormat { table, json, jsonl, csv, md };

/// Throws UsageError listing the formats if `text` is not one.
OutputFormat parse_output_format(const std::string& text);

/// table: aligned text, each section's body indented under its heading. md: Markdown. csv: the
/// document's tables as numbers with the unit in the title (reports/csv.hpp), a blank line between
/// tables. json: `machine`, indented by two. jsonl: `machine` on one line.
void write(const Document& document, OutputFormat format, std::ostream& out);

/// Terminal columns that UTF-8 text takes: 0 for combining marks, 2 for East Asian wide characters.
std::size_t display_width(std::string_view text);

}  // namespace roofcast

// The answer of a command, before it has a form: one JSON object for machines, sections for
// people. Writers only format; every command fills a Document and prints it with --output.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace roofcast {

struct Column {
  std::string title;  // unit in the title: "TTFT (ms)"
  bool right = true;  // numbers right, text left
};

/// A table, already in the units and digits that a person reads. Every row has a cell a column. One
/// whose columns all have no title is a list of names and values, printed without a head.
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// A heading, sentences, then at most one table.
struct Section {
  std::string heading;
  std::vector<std::string> lines;
  Table table;
};

struct Document {
  Json machine;  // keys as in docs/output.md, SI units in the names; finite numbers only
  std::vector<Section> sections;
};

enum class OutputFormat { table, json, jsonl, csv, md };

/// Throws UsageError naming the formats.
OutputFormat parse_output_format(const std::string& text);

/// table: aligned text, a section's body indented under its heading; md: Markdown; csv: the
/// document's tables, quoted as in RFC 4180 with lines ended by a line feed, a blank line between
/// tables, whole-number separators removed; json: `machine`, indented by two; jsonl: `machine` on
/// one line.
void write(const Document& document, OutputFormat format, std::ostream& out);

/// Columns that UTF-8 text takes on a terminal: combining marks none, East Asian wide ones two.
std::size_t display_width(std::string_view text);

}  // namespace roofcast

#include "reports/document.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <ostream>

#include "base/error.hpp"
#include "reports/csv.hpp"

namespace roofcast {
namespace {

using Row = std::vector<Cell>;

/// Collapses text to one line. Names come from files, so tabs, line feeds and control characters
/// become spaces, including the C1 controls of ISO 6429 (U+0080 to U+009F), which are two bytes in
/// UTF-8.
std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if (text[i] == '\xC2' && second >= 0x80 && second < 0xA0) text.replace(i, 2, "  ");
  }
  return text;
}

Row titles_of(const Table& table) {
  Row titles;
  for (const Column& column : table.columns) titles.push_back(column.title);
  return titles;
}

// ---- aligned text

std::vector<std::size_t> column_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t width = display_width(table.columns[i].title);
    for (const Row& row : table.rows) width = std::max(width, display_width(row[i].text));
    widths.push_back(width);
  }
  return widths;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return right ? space + text : text + space;
}

void print_line(std::string line, const std::string& indent, std::ostream& out) {
  line.erase(line.find_last_not_of(' ') + 1);
  out << (line.empty() ? "" : indent + line) << "\n";
}

void print_text_row(const Table& table, const Row& row, const std::vector<std::size_t>& widths,
                    const std::string& indent, std::ostream& out) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += "  ";
    line += padded(on_one_line(row[i].text), widths[i], table.columns[i].right);
  }
  print_line(line, indent, out);
}

void print_text_table(const Table& table, const std::string& indent, std::ostream& out) {
  if (!table.title.empty()) print_line(on_one_line(table.title), indent, out);
  const auto widths = column_widths(table);
  if (has_titles(table)) {
    Row rule;
    for (const std::size_t width : widths) rule.emplace_back(std::string(width, '-'));
    print_text_row(table, titles_of(table), widths, indent, out);
    print_text_row(table, rule, widths, indent, out);
  }
  for (const Row& row : table.rows) print_text_row(table, row, widths, indent, out);
}

/// A heading indents all that follows it.
void write_text(const Document& document, std::ostream& out) {
  bool first = true;
  std::string indent;
  for (const Section& section : document.sections) {
    if (!first) out << "\n";
    first = false;
    if (!section.heading.empty()) indent = "  ";
    if (!section.heading.empty()) print_line(on_one_line(section.heading), "", out);
    for (const std::string& line : section.lines) print_line(on_one_line(line), indent, out);
    if (section.table.columns.empty()) continue;
    if (!section.lines.empty()) out << "\n";
    print_text_table(section.table, indent, out);
  }
}

// ---- Markdown

/// Escapes `text` so that Markdown shows it literally, also inside a table.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : on_one_line(text)) {
    if (std::string_view("\\|<*`").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

void print_markdown_row(const Row& row, std::ostream& out) {
  for (const Cell& cell : row) out << "| " << cell.text << (cell.text.empty() ? "" : " ");
  out << "|\n";
}

void print_markdown_table(const Table& table, std::ostream& out) {
  if (!table.title.empty()) out << "**" << escaped(table.title) << "**\n\n";
  Row titles, rule;
  for (const Column& column : table.columns) {
    titles.push_back(escaped(column.title));  // Markdown has no table without a heading row
    rule.emplace_back(column.right ? "---:" : "---");
  }
  print_markdown_row(titles, out);
  print_markdown_row(rule, out);
  for (const Row& row : table.rows) {
    Row cells;
    for (const Cell& cell : row) cells.emplace_back(escaped(cell.text));
    print_markdown_row(cells, out);
  }
}

void write_markdown(const Document& document, std::ostream& out) {
  bool first = true;
  const auto paragraph = [&first, &out] {
    if (!first) out << "\n";
    first = false;
  };
  for (const Section& section : document.sections) {
    if (!section.heading.empty()) {
      paragraph();
      out << "## " << escaped(section.heading) << "\n";
    }
    for (const std::string& line : section.lines) {
      paragraph();
      out << escaped(line) << "\n";
    }
    if (section.table.columns.empty()) continue;
    paragraph();
    print_markdown_table(section.table, out);
  }
}

// ---- CSV

void write_csv(const Document& document, std::ostream& out) {
  bool first = true;
  for (const Section& section : document.sections) {
    const Table& table = section.spreadsheet.columns.empty() ? section.table : section.spreadsheet;
    if (table.columns.empty()) continue;
    if (!first) out << "\n";
    first = false;
    write_csv(table, out);
  }
}

// ---- checks

[[maybe_unused]] bool all_finite(const Json& value) {
  if (value.is_number_float()) return std::isfinite(value.get<double>());
  return std::all_of(value.begin(), value.end(), [](const Json& child) {
    return !(child.is_structured() || child.is_number_float()) || all_finite(child);
  });
}

[[maybe_unused]] bool rows_match_columns(const Document& document) {
  for (const Section& section : document.sections) {
    for (const Table* table : {&section.table, &section.spreadsheet}) {
      for (const Row& row : table->rows) {
        if (row.size() != table->columns.size()) return false;
      }
    }
  }
  return true;
}

/// JSON text; bytes of a name (from a file) that are not UTF-8 become the replacement character.
std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

bool has_titles(const Table& table) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [](const Column& column) { return !column.title.empty(); });
}

Json rows_json(const Table& table) {
  Json rows = Json::array();
  for (const Row& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) cells.push_back(cell.text);
    rows.push_back(std::move(cells));
  }
  return rows;
}

OutputFormat parse_output_format(const std::string& text) {
  if (text == "table") return OutputFormat::table;
  if (text == "json") return OutputFormat::json;
  if (text == "jsonl") return OutputFormat::jsonl;
  if (text == "csv") return OutputFormat::csv;
  if (text == "md") return OutputFormat::md;
  throw UsageError("`output`: '" + text + "' is not table, json, jsonl, csv or md");
}

void write(const Document& document, OutputFormat format, std::ostream& out) {
  assert(all_finite(document.machine));
  assert(rows_match_columns(document));
  switch (format) {
    case OutputFormat::table:
      return write_text(document, out);
    case OutputFormat::json:
      out << json_text(document.machine, 2) << "\n";
      return;
    case OutputFormat::jsonl:
      out << json_text(document.machine, -1) << "\n";
      return;
    case OutputFormat::csv:
      return write_csv(document, out);
    case OutputFormat::md:
      return write_markdown(document, out);
  }
}

}  // namespace roofcast

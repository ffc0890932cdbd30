#include "reports/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/document.hpp"

namespace roofcast {
namespace {

using Cells = std::vector<std::string>;

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string result = "\"";
  for (const char c : cell) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

void print_row(const Cells& row, std::ostream& out) {
  // A lone empty cell would look like the blank line between tables.
  if (row.size() == 1 && row[0].empty()) {
    out << "\"\"\n";
    return;
  }
  for (std::size_t i = 0; i < row.size(); ++i) out << (i == 0 ? "" : ",") << quoted(row[i]);
  out << "\n";
}

/// A column of the file.
struct Written {
  std::string title{};
  Cells cells{};
};

/// The column of a table as it stands.
Written as_printed(const Table& table, std::size_t column, std::string title) {
  Written written{.title = std::move(title)};
  for (const auto& row : table.rows) written.cells.push_back(row[column].text);
  return written;
}

bool any_text(const Cells& cells) {
  return std::ranges::any_of(cells, [](const std::string& cell) { return !cell.empty(); });
}

/// Adds the figures (without a number where a cell has none) under `title`, then their units if
/// these differ.
void add_figures(const std::string& title, const std::vector<Printed>& figures, bool unit_apart,
                 std::vector<Written>& columns) {
  std::set<std::string> units;
  for (const Printed& figure : figures) {
    if (!figure.number.empty()) units.insert(figure.unit);
  }
  const bool apart = unit_apart || units.size() > 1;
  const bool in_title = !apart && !units.empty() && !units.begin()->empty();
  Written numbers{.title = in_title ? fmt::format("{} ({})", title, *units.begin()) : title};
  Written unit{.title = title == "Value" ? "Unit" : title + " unit"};
  for (const Printed& figure : figures) {
    numbers.cells.push_back(figure.number);
    unit.cells.push_back(figure.unit);
  }
  columns.push_back(std::move(numbers));
  if (apart && any_text(unit.cells)) columns.push_back(std::move(unit));
}

/// The text of a cell of a numeric column besides its number.
std::string remark_of(const Cell& cell) {
  if (!cell.number.empty()) return cell.remark;
  return cell.text == "-" ? "" : cell.text;
}

/// The columns of the file for a right-aligned column of the table.
void add_numeric(const Table& table, std::size_t column, const std::string& title, bool unit_apart,
                 std::vector<Written>& columns) {
  std::vector<Printed> single, low, high;
  Cells remarks;
  bool any_single = false;
  bool any_range = false;
  for (const auto& row : table.rows) {
    const Cell& cell = row[column];
    const bool ranges = !cell.to.number.empty();
    any_range = any_range || ranges;
    any_single = any_single || (!ranges && !cell.number.empty());
    single.push_back(ranges ? Printed() : Printed(cell));
    low.push_back(ranges ? Printed(cell) : Printed());
    high.push_back(cell.to);
    remarks.push_back(remark_of(cell));
  }
  if (!any_single && !any_range) {
    columns.push_back(as_printed(table, column, title));
    return;
  }
  if (any_single) add_figures(title, single, unit_apart, columns);
  if (any_range) {
    add_figures(title + ", low", low, false, columns);
    add_figures(title + ", high", high, false, columns);
  }
  if (!any_text(remarks)) return;
  columns.push_back(
      {.title = title == "Value" ? "Remark" : title + " remark", .cells = std::move(remarks)});
}

/// The column's title; of one without, which qualifies the one before, "Prefill note".
std::string title_of(const Table& table, std::size_t column) {
  const std::string& title = table.columns[column].title;
  return title.empty() && column > 0 ? title_of(table, column - 1) + " note" : title;
}

std::string list_title(std::size_t column, bool numeric) {
  if (column == 0) return "Name";
  return numeric ? "Value" : "Note";
}

}  // namespace

void write_csv(const Table& table, std::ostream& out) {
  const bool titled = std::ranges::any_of(
      table.columns, [](const Column& column) { return !column.title.empty(); });
  std::vector<Written> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool right = table.columns[i].right;
    // The second column of a list holds its values, however they are aligned.
    const bool numeric = right || (!titled && i == 1);
    const std::string title = titled ? title_of(table, i) : list_title(i, numeric);
    if (numeric) {
      add_numeric(table, i, title, !titled, columns);
    } else {
      columns.push_back(as_printed(table, i, title));
    }
  }
  Cells titles;
  for (const Written& column : columns) titles.push_back(column.title);
  print_row(titles, out);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    Cells cells;
    for (const Written& column : columns) cells.push_back(column.cells[row]);
    print_row(cells, out);
  }
}

}  // namespace roofcast

#include "reports/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "reports/document.hpp"

namespace roofcast {
namespace {

using Cells = std::vector<std::string>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A unit as it is printed, and the factor to that of its kind.
struct Unit {
  std::string_view printed{};
  std::string_view base{};
  double factor = 1;
};

constexpr double kKibi = 1024;

/// Longer ones first where one begins another.
constexpr std::array kUnits = {
    Unit{"ns", "s", 1e-9},
    Unit{"us", "s", 1e-6},
    Unit{"ms", "s", 1e-3},
    Unit{"min", "s", 60},
    Unit{"s", "s", 1},
    Unit{"h", "s", 3600},
    Unit{"d", "s", 86400},
    Unit{"TiB", "B", kKibi* kKibi* kKibi* kKibi},
    Unit{"GiB", "B", kGiB},
    Unit{"MiB", "B", kKibi* kKibi},
    Unit{"KiB", "B", kKibi},
    Unit{"PFLOP/s", "FLOP/s", 1e15},
    Unit{"TFLOP/s", "FLOP/s", 1e12},
    Unit{"GFLOP/s", "FLOP/s", 1e9},
    Unit{"MFLOP/s", "FLOP/s", 1e6},
    Unit{"FLOP/s", "FLOP/s", 1},
    Unit{"TB/s", "B/s", 1e12},
    Unit{"GB/s", "B/s", 1e9},
    Unit{"MB/s", "B/s", 1e6},
    Unit{"B/s", "B/s", 1},
    Unit{"%", "%", 1},
    Unit{"GHz", "Hz", 1e9},
    Unit{"MHz", "Hz", 1e6},
    Unit{"W", "W", 1},
    Unit{"/s", "/s", 1},
    Unit{"x", "x", 1},
};

/// Takes a number from the front of `text`: "1,234.5", whose separators are left out. Leaves `text`
/// unchanged and returns an empty one if there is none, or separators stand elsewhere.
std::string take_number(std::string_view& text) {
  std::string whole;
  std::size_t end = 0;
  std::size_t group = 0;  // digits since the last separator
  bool separated = false;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    const bool more = end + 1 < text.size() && is_digit(text[end + 1]);
    if (is_digit(c)) {
      whole += c;
      ++group;
    } else if (c == ',' && more && group > 0 && (separated ? group == 3 : group <= 3)) {
      separated = true;
      group = 0;
    } else {
      break;
    }
  }
  if (whole.empty() || (separated && group != 3)) return "";
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
    whole += text[end++];
    while (end < text.size() && is_digit(text[end])) whole += text[end++];
  }
  const std::string_view behind = text.substr(end);
  const bool exponent = behind.size() > 2 && behind[0] == 'e' &&
                        (behind[1] == '-' || behind[1] == '+') && is_digit(behind[2]);
  if (exponent) {
    whole += text.substr(end, 2);
    end += 2;
    while (end < text.size() && is_digit(text[end])) whole += text[end++];
  }
  text.remove_prefix(end);
  return whole;
}

/// The unit at the front of `text`, which it takes; null if there is none.
const Unit* take_unit(std::string_view& text) {
  const std::string_view name = text.starts_with(' ') ? text.substr(1) : text;
  const auto* const found = std::ranges::find_if(kUnits, [&](const Unit& unit) {
    if (!name.starts_with(unit.printed)) return false;
    const std::string_view rest = name.substr(unit.printed.size());
    return rest.empty() || std::string_view(" ,;:)").find(rest.front()) != std::string_view::npos;
  });
  if (found == kUnits.end()) return nullptr;
  text = name.substr(found->printed.size());
  return found;
}

/// `digits` times `factor`, with as many significant digits as `digits` has.
std::string scaled(const std::string& digits, double factor) {
  if (factor == 1) return digits;
  const std::string mantissa = digits.substr(0, digits.find('e'));
  const std::size_t first = mantissa.find_first_not_of("0.");
  const auto places =
      first == std::string::npos ? 1 : std::ranges::count_if(mantissa.substr(first), is_digit);
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const double product = value * factor;
  // Numbers of bytes are whole, and nobody wants their scientific notation.
  if (product >= 1000 && product < 1e15) return fmt::format("{:.0f}", product);
  return fmt::format("{:.{}g}", product, std::max<std::ptrdiff_t>(places, 1));
}

/// "3 min 05 s", "1 h 02 min", "7 d 00 h", the smaller part of which `rest` begins with.
std::string with_second_part(const std::string& big, const Unit& unit, std::string_view& rest) {
  std::string_view second = rest;
  if (unit.base != "s" || unit.factor < 60 || !second.starts_with(' ')) {
    return scaled(big, unit.factor);
  }
  second.remove_prefix(1);
  const std::string small = take_number(second);
  const Unit* const part = small.empty() ? nullptr : take_unit(second);
  if (part == nullptr || part->base != "s" || part->factor >= unit.factor) {
    return scaled(big, unit.factor);
  }
  rest = second;
  double bigs = 0;
  double smalls = 0;
  std::from_chars(big.data(), big.data() + big.size(), bigs);
  std::from_chars(small.data(), small.data() + small.size(), smalls);
  return fmt::format("{:.0f}", bigs * unit.factor + smalls * part->factor);
}

/// Without the parentheses or punctuation around it.
std::string remark_of(std::string_view rest) {
  rest = trimmed(rest, " ,;:");
  if (rest.starts_with('(') && rest.find(')') == rest.size() - 1) {
    rest = rest.substr(1, rest.size() - 2);
  }
  return std::string(rest);
}

/// Whether `remark` may stand behind a number: not where the whole is a name, such as "70B" or a
/// date.
bool stands_apart(std::string_view rest) {
  return rest.empty() || std::string_view(" ,;:").find(rest.front()) != std::string_view::npos;
}

/// Of counts such as "139.00 G" and "8.03 B". as_bytes prints whole bytes, as_parameters billions
/// with decimals.
std::optional<double> factor_of(char prefix, const std::string& number) {
  switch (prefix) {
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    case 'B':
      return number.find('.') != std::string::npos ? 1e9 : 1;
    case 'T':
      return 1e12;
    default:
      return std::nullopt;
  }
}

std::optional<PlainFigure> figure_without_qualifier(std::string_view cell) {
  PlainFigure figure;
  std::string_view rest = cell;
  std::string sign;
  if (rest.starts_with("±")) rest.remove_prefix(std::string_view("±").size());
  if (rest.starts_with('-') || rest.starts_with('+')) {
    if (rest.front() == '-') sign = "-";
    rest.remove_prefix(1);
  }
  if (rest.starts_with('$')) {
    figure.unit = "$";
    rest.remove_prefix(1);
  }
  const std::string number = take_number(rest);
  if (number.empty()) return std::nullopt;
  figure.number = sign + number;
  if (figure.unit.empty()) {
    if (const Unit* unit = take_unit(rest)) {
      figure.unit = unit->base;
      figure.number = sign + with_second_part(number, *unit, rest);
    } else if (rest.size() >= 2 && rest[0] == ' ' && stands_apart(rest.substr(2))) {
      if (const auto factor = factor_of(rest[1], number)) {
        if (rest[1] == 'B' && *factor == 1) figure.unit = "B";
        figure.number = sign + scaled(number, *factor);
        rest.remove_prefix(2);
      }
    }
  }
  if (!stands_apart(rest)) return std::nullopt;
  figure.remark = remark_of(rest);
  return figure;
}

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
  for (const Cells& row : table.rows) written.cells.push_back(row[column]);
  return written;
}

bool says_nothing(std::string_view cell) { return cell.empty() || cell == "-"; }

/// Both ends of "-8.5 ms to +4.3 ms".
std::optional<std::pair<PlainFigure, PlainFigure>> range_of(std::string_view cell) {
  constexpr std::string_view kTo = " to ";
  const std::size_t at = cell.find(kTo);
  if (at == std::string_view::npos) return std::nullopt;
  const auto low = plain_figure(cell.substr(0, at));
  const auto high = plain_figure(cell.substr(at + kTo.size()));
  if (!low || !high || !low->remark.empty()) return std::nullopt;
  return std::pair(*low, *high);
}

/// Figures of a column, nullopt where a cell has none, and what its cells say besides.
struct Figures {
  std::vector<std::optional<PlainFigure>> figures{};
  Cells remarks{};
};

bool any_text(const Cells& cells) {
  return std::ranges::any_of(cells, [](const std::string& cell) { return !cell.empty(); });
}

/// Adds the figures under `title`, then their units if these differ.
void add_figures(const std::string& title, const std::vector<std::optional<PlainFigure>>& figures,
                 bool unit_apart, std::vector<Written>& columns) {
  std::set<std::string> units;
  for (const auto& figure : figures) {
    if (figure) units.insert(figure->unit);
  }
  const bool apart = unit_apart || units.size() > 1;
  const bool in_title = !apart && !units.empty() && !units.begin()->empty();
  Written numbers{.title = in_title ? fmt::format("{} ({})", title, *units.begin()) : title};
  Written unit{.title = title == "Value" ? "Unit" : title + " unit"};
  for (const auto& figure : figures) {
    numbers.cells.push_back(figure ? figure->number : "");
    unit.cells.push_back(figure ? figure->unit : "");
  }
  columns.push_back(std::move(numbers));
  if (apart && any_text(unit.cells)) columns.push_back(std::move(unit));
}

void add_remarks(const std::string& title, Cells remarks, std::vector<Written>& columns) {
  if (!any_text(remarks)) return;
  columns.push_back(
      {.title = title == "Value" ? "Remark" : title + " remark", .cells = std::move(remarks)});
}

/// The columns of the file for a right-aligned column of the table.
void add_numeric(const Table& table, std::size_t column, const std::string& title, bool unit_apart,
                 std::vector<Written>& columns) {
  std::vector<std::optional<PlainFigure>> single;
  std::vector<std::optional<PlainFigure>> low;
  std::vector<std::optional<PlainFigure>> high;
  Cells remarks;
  bool any_single = false;
  bool any_range = false;
  for (const Cells& row : table.rows) {
    const std::string& cell = row[column];
    const auto range = range_of(cell);
    const auto figure = range ? std::nullopt : plain_figure(cell);
    any_range = any_range || range.has_value();
    any_single = any_single || figure.has_value();
    single.push_back(figure);
    low.push_back(range ? std::optional(range->first) : std::nullopt);
    high.push_back(range ? std::optional(range->second) : std::nullopt);
    remarks.push_back(figure               ? figure->remark
                      : range              ? range->second.remark
                      : says_nothing(cell) ? ""
                                           : cell);
  }
  if (!any_single && !any_range) {
    columns.push_back(as_printed(table, column, title));
    return;
  }
  if (any_single || !any_range) add_figures(title, single, unit_apart, columns);
  if (any_range) {
    add_figures(title + ", low", low, false, columns);
    add_figures(title + ", high", high, false, columns);
  }
  add_remarks(title, std::move(remarks), columns);
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

std::optional<PlainFigure> plain_figure(std::string_view cell) {
  for (const std::string_view word : {"over ", "under "}) {
    if (!cell.starts_with(word)) continue;
    auto figure = figure_without_qualifier(cell.substr(word.size()));
    if (!figure) return std::nullopt;
    const std::string qualifier(trimmed(word));
    figure->remark = figure->remark.empty() ? qualifier : qualifier + ", " + figure->remark;
    return figure;
  }
  return figure_without_qualifier(cell);
}

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

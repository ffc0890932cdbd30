#include "validate/manifest_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <istream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/csv.hpp"
#include "base/io/json_buffer.hpp"
#include "base/io/line_reader.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "validate/manifest_formula.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

// ---- reading

void check_count(std::size_t rows, const std::string& place) {
  if (rows < kMaxRows) return;
  throw Error(fmt::format("{}: over {} rows, expected fewer cases", place, kMaxRows));
}

std::vector<PatternRow> read_csv_rows(const std::string& path) {
  ByteSource bytes(path);
  LineReader lines(bytes);
  std::string_view line;
  std::vector<std::string> names;
  std::vector<std::string> fields;
  std::vector<PatternRow> rows;
  while (lines.next_filled(line)) {
    const std::string place = fmt::format("{}, line {}", path, lines.line_number());
    if (!split_csv(line, fields)) throw Error(place + ": a quote is left open");
    if (names.empty()) {
      names = fields;
      continue;
    }
    if (fields.size() != names.size()) {
      throw Error(fmt::format("{}: {} fields, expected {} as in the header", place, fields.size(),
                              names.size()));
    }
    check_count(rows.size(), place);
    json values = json::object();
    for (std::size_t i = 0; i < names.size(); ++i) values[names[i]] = fields[i];
    rows.push_back({.values = std::move(values), .place = place});
  }
  if (names.empty()) throw Error(path + ": is empty, expected a header line and rows");
  return rows;
}

json read_json(const std::string& path) {
  ByteSource bytes(path);
  JsonBuffer buffer(bytes, NumberWords::become_null);
  std::istream stream(&buffer);
  stream.exceptions(std::ios::badbit);  // an Error thrown by the buffer passes through
  try {
    return parse_bounded<json>(stream, path);
  } catch (const json::exception&) {
    throw Error(fmt::format("{}:{}: is not JSON", path, buffer.line()));
  }
}

std::vector<PatternRow> read_json_rows(const std::string& path) {
  const json table = read_json(path);
  if (!table.is_array()) throw Error(path + ": expected a JSON array of objects, one per case");
  std::vector<PatternRow> rows;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", path, i);
    if (!table[i].is_object()) {
      throw Error(place + ": is not an object, expected the values of a case");
    }
    check_count(rows.size(), place);
    rows.push_back({.values = table[i], .place = place});
  }
  return rows;
}

// ---- looking up

/// A text that is exactly a JSON number, as that number.
std::optional<json> number_of(const std::string& text) {
  if (const auto whole = to_number<std::int64_t>(text)) return json(*whole);
  const auto real = to_number<double>(text);
  return real ? std::optional<json>(*real) : std::nullopt;
}

/// A value as part of a text.
std::string part_of_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "";
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The member of an object by key, or the element of a list by index.
const json* member_of(const json& value, const std::string& key) {
  if (value.is_object()) {
    const auto found = value.find(key);
    return found == value.end() ? nullptr : &*found;
  }
  const auto index = to_number<std::uint64_t>(key);
  return value.is_array() && index && *index < value.size() ? &value[*index] : nullptr;
}

std::string columns_of(const json& values) {
  constexpr std::size_t kShown = 200;
  std::vector<std::string> names;
  for (const auto& item : values.items()) names.push_back(item.key());
  return shown(joined(names), kShown);
}

const json& lookup(const PatternRow& row, const std::string& column) {
  const json* value = member_of(row.values, column);  // a column's own name may contain dots
  if (value != nullptr) return *value;
  value = &row.values;
  for (std::size_t begin = 0; value != nullptr && begin <= column.size();) {
    const std::size_t end = std::min(column.find('.', begin), column.size());
    value = member_of(*value, column.substr(begin, end - begin));
    begin = end + 1;
  }
  if (value != nullptr) return *value;
  constexpr std::size_t kShown = 60;
  throw Error(fmt::format("{}: has no '{}', only {}", row.place, shown(column, kShown),
                          columns_of(row.values)));
}

// ---- choosing rows

bool is_same(const json& value, const json& wanted) {
  if (value.is_number() && wanted.is_number()) return value == wanted;
  return part_of_text(value) == part_of_text(wanted);
}

bool is_among(const json& value, const json& wanted) {
  if (!wanted.is_array()) return is_same(value, wanted);
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const json& one) { return is_same(value, one); });
}

std::optional<double> cell_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? to_number<double>(value.get<std::string>()) : std::nullopt;
}

/// Negative if `value` comes before `bound`, 0 if they are equal.
int order_of(const json& value, const json& bound) {
  const auto a = cell_number(value);
  const auto b = cell_number(bound);
  if (a && b) return *a < *b ? -1 : (*a > *b ? 1 : 0);
  return part_of_text(value).compare(part_of_text(bound));
}

bool is_within(const json& value, const json& range, const PatternRow& row) {
  const bool empty = part_of_text(value).empty();
  for (const auto& [word, bound] : range.items()) {
    bool holds = false;
    if (word == "not") {
      holds = !is_among(value, bound);
    } else if (word == "from") {
      holds = !empty && order_of(value, bound) >= 0;
    } else if (word == "to") {
      holds = !empty && order_of(value, bound) <= 0;
    } else if (word == "above") {
      holds = !empty && order_of(value, bound) > 0;
    } else if (word == "before") {
      holds = !empty && order_of(value, bound) < 0;
    } else {
      constexpr std::size_t kShown = 40;
      throw Error(fmt::format("{}: where: unknown '{}', expected from, to, above, before or not",
                              row.place, shown(word, kShown)));
    }
    if (!holds) return false;
  }
  return true;
}

// ---- filling in

std::optional<double> number_of_column(const PatternRow& row, const std::string& column) {
  const json& value = lookup(row, column);
  const auto* text = value.get_ptr<const std::string*>();
  if (value.is_null() || (text != nullptr && text->empty())) return std::nullopt;
  const auto number = cell_number(value);
  if (number) return number;
  constexpr std::size_t kShown = 40;
  throw Error(fmt::format("{}: {} is '{}', expected a number", row.place, column,
                          shown(part_of_text(value), kShown)));
}

/// A column's value, or that of a formula ("= 2 * column"), whole if it is a whole number.
json referenced_value(const std::string& reference, const PatternRow& row) {
  if (!reference.starts_with('=')) return lookup(row, reference);
  const auto column = [&](const std::string& name) { return number_of_column(row, name); };
  const auto value = formula_value(std::string_view(reference).substr(1), column, row.place);
  if (!value) return nullptr;
  constexpr double kLargestWhole = 9007199254740992;  // 2^53: beyond, not every integer is a double
  if (*value == std::floor(*value) && std::abs(*value) <= kLargestWhole) {
    return static_cast<std::int64_t>(*value);
  }
  return *value;
}

/// Appends the text up to the next "${", moves `at` past its "}" and returns the column; nullopt at
/// the end of the text.
std::optional<std::string> next_column(const std::string& text, std::size_t& at,
                                       std::string& before, const PatternRow& row) {
  const std::size_t begin = std::min(text.find("${", at), text.size());
  before.append(text, at, begin - at);
  at = begin;
  if (begin == text.size()) return std::nullopt;
  const std::size_t end = text.find('}', begin);
  if (end == std::string::npos) {
    constexpr std::size_t kShown = 60;
    throw Error(
        fmt::format("{}: '{}' has no closing brace", row.place, shown(text.substr(begin), kShown)));
  }
  at = end + 1;
  return text.substr(begin + 2, end - begin - 2);
}

json filled_text(const std::string& text, const PatternRow& row) {
  std::string result;
  std::size_t at = 0;
  while (const auto column = next_column(text, at, result, row)) {
    json value = referenced_value(*column, row);
    constexpr std::size_t kBraces = 3;  // characters of "${" and "}"
    if (text.size() != column->size() + kBraces) {
      result += part_of_text(value);
      continue;
    }
    if (!value.is_string()) return value;
    const auto& words = value.get_ref<const std::string&>();
    if (words.empty()) return nullptr;
    return number_of(words).value_or(value);
  }
  return result;
}

}  // namespace

std::vector<PatternRow> read_pattern_rows(const JsonObject& rows,
                                          const std::filesystem::path& folder) {
  const auto file = rows.text("file");
  if (!file || file->empty()) rows.fail_missing("file", "a file of rows, .csv or .json");
  const json* columns = rows.find("columns");
  if (columns != nullptr && !columns->is_object()) rows.fail("columns", kColumns);
  const json* where = rows.find("where");
  if (where != nullptr && !where->is_object()) rows.fail("where", "columns and their values");
  const std::string path = (folder / *file).lexically_normal().string();
  const bool is_json = path.ends_with(".json") || path.ends_with(".json.gz");
  std::vector<PatternRow> found = is_json ? read_json_rows(path) : read_csv_rows(path);
  if (columns != nullptr) {
    for (PatternRow& row : found) add_columns(*columns, row);
  }
  if (where != nullptr) {
    std::erase_if(found, [&](const PatternRow& row) { return !passes(row, *where); });
  }
  if (found.empty()) throw Error(path + ": the manifest selects none of its rows");
  return found;
}

void add_columns(const json& columns, PatternRow& row) {
  json added = json::object();
  for (const auto& [name, value] : columns.items()) added[name] = filled_in(value, row);
  row.values.update(added);
}

bool passes(const PatternRow& row, const json& where) {
  for (const auto& [column, wanted] : where.items()) {
    const json& value = lookup(row, column);
    if (!(wanted.is_object() ? is_within(value, wanted, row) : is_among(value, wanted))) {
      return false;
    }
  }
  return true;
}

json filled_in(const json& pattern, const PatternRow& row) {
  if (pattern.is_string()) return filled_text(pattern.get_ref<const std::string&>(), row);
  if (pattern.is_array()) {
    json list = json::array();
    for (const json& item : pattern) list.push_back(filled_in(item, row));
    return list;
  }
  if (!pattern.is_object()) return pattern;
  json object = json::object();
  for (const auto& item : pattern.items()) {
    json value = filled_in(item.value(), row);
    if (!value.is_null()) object[item.key()] = std::move(value);
  }
  return object;
}

}  // namespace roofcast

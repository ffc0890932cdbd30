#include "cli/runs_sql.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/io/named_pipe.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {
namespace {

/// Reads one byte more than a query may have, so that longer ones are detected.
std::string text_of(std::istream& in) {
  std::string text(kLongestQuery + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

struct CellText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(const std::string& text) const { return text; }
};

/// JSON has no infinity: null.
struct CellJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::int64_t number) const { return number; }
  Json operator()(double number) const { return std::isfinite(number) ? Json(number) : nullptr; }
  Json operator()(const std::string& text) const { return text; }
};

/// Column names as keys of an object: a second "name" becomes "name_2".
std::vector<std::string> keys_of(const std::vector<std::string>& columns) {
  std::set<std::string> taken(columns.begin(), columns.end());
  std::set<std::string> used;
  std::vector<std::string> keys;
  for (const std::string& column : columns) {
    std::string key = column;
    for (int i = 2; used.contains(key) || (key != column && taken.contains(key)); ++i) {
      key = fmt::format("{}_{}", column, i);
    }
    used.insert(key);
    keys.push_back(key);
  }
  return keys;
}

bool is_text(const QueryValue& value) { return std::holds_alternative<std::string>(value); }

std::vector<Column> columns_of(const QueryAnswer& answer) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < answer.columns.size(); ++i) {
    const bool has_text = std::any_of(answer.rows.begin(), answer.rows.end(),
                                      [i](const auto& row) { return is_text(row[i]); });
    columns.push_back({.title = answer.columns[i], .right = !has_text});
  }
  return columns;
}

}  // namespace

std::string sql_text(const std::string& given) {
  if (given == "-") return text_of(std::cin);
  if (!given.starts_with('@')) return given;
  const std::string path = given.substr(1);
  refuse_named_pipe(path);
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw Error(path + ": cannot be read (--sql @FILE)");
  }
  return text_of(file);
}

Document sql_document(const QueryAnswer& answer, const std::string& path, const std::string& sql) {
  Document document{.machine = envelope("runs", {{"store", path}, {"sql", sql}}), .sections = {}};
  Table table{.title = "", .columns = columns_of(answer), .rows = {}};
  const std::vector<std::string> keys = keys_of(answer.columns);
  Json rows = Json::array();
  for (const auto& row : answer.rows) {
    Json object = Json::object();
    std::vector<std::string>& cells = table.rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      object[keys[i]] = std::visit(CellJson{}, row[i]);
      cells.push_back(std::visit(CellText{}, row[i]));
    }
    rows.push_back(std::move(object));
  }
  document.machine["columns"] = keys;
  document.machine["rows"] = std::move(rows);
  document.machine["more"] = answer.more;
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  return document;
}

}  // namespace roofcast

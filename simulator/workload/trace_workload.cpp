#include "simulator/workload/trace_workload.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

constexpr std::array<std::pair<std::string_view, TraceFormat>, 4> kFormats = {
    {{"auto", TraceFormat::automatic},
     {"csv", TraceFormat::csv},
     {"jsonl", TraceFormat::jsonl},
     {"bench", TraceFormat::bench}}};
constexpr std::array<std::pair<std::string_view, TraceTimeUnit>, 4> kUnits = {
    {{"s", TraceTimeUnit::seconds},
     {"ms", TraceTimeUnit::milliseconds},
     {"us", TraceTimeUnit::microseconds},
     {"ns", TraceTimeUnit::nanoseconds}}};
constexpr std::array<std::pair<std::string_view, std::string TraceColumnNames::*>, 9> kColumns = {
    {{"time", &TraceColumnNames::time},
     {"input", &TraceColumnNames::input},
     {"output", &TraceColumnNames::output},
     {"max_tokens", &TraceColumnNames::max_tokens},
     {"class", &TraceColumnNames::slo_class},
     {"priority", &TraceColumnNames::priority},
     {"session", &TraceColumnNames::session},
     {"delay", &TraceColumnNames::delay},
     {"hash_ids", &TraceColumnNames::hash_ids}}};

template <class Table>
auto value_of(const Table& table, std::string_view text) {
  using Value = std::remove_cvref_t<decltype(table[0].second)>;
  for (const auto& [name, value] : table) {
    if (name == text) return std::optional<Value>(value);
  }
  return std::optional<Value>();
}

template <class Table, class Value>
std::string name_in(const Table& table, Value wanted) {
  for (const auto& [name, value] : table) {
    if (value == wanted) return std::string(name);
  }
  return "";
}

}  // namespace

std::optional<TraceFormat> parse_trace_format(std::string_view text) {
  return value_of(kFormats, text);
}
std::string name_of(TraceFormat format) { return name_in(kFormats, format); }

std::optional<TraceTimeUnit> parse_trace_time_unit(std::string_view text) {
  return value_of(kUnits, text);
}
std::string name_of(TraceTimeUnit unit) { return name_in(kUnits, unit); }

TraceColumnNames parse_trace_columns(const std::string& text) {
  TraceColumnNames names;
  for (const std::string_view pair : split(text, ',')) {
    const std::size_t equals = pair.find('=');
    const auto column = value_of(kColumns, pair.substr(0, equals));
    if (!column || equals == std::string_view::npos || equals + 1 == pair.size()) {
      throw Error(fmt::format(
          "'{}' does not rename a column: expected time=NAME, or input, output, class, priority, "
          "session, delay or hash_ids, separated by commas",
          pair));
    }
    std::string& name = names.*(*column);
    if (!name.empty()) throw Error(fmt::format("'{}': the column is named twice", pair));
    name = pair.substr(equals + 1);
  }
  return names;
}

}  // namespace roofcast

// Expands table rows into manifest cases: one pattern with "${column}" in its texts gives one case
// per row.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulator/io/json_object.hpp"

namespace roofcast {

/// Larger counts are input errors: every row is a prediction.
inline constexpr std::size_t kMaxRows = 100'000;

/// A row: the values of a JSON object, or the fields of a CSV line as texts.
struct PatternRow {
  nlohmann::json values;
  std::string place;  // "runs.csv, line 12", for messages
};

/// Reads the rows of the file in {"file", "columns", "where"}, relative to `folder`: CSV with a
/// header line (.csv, .csv.gz) or a JSON array of objects (.json, .json.gz). Adds the columns of
/// `columns`, whose values are filled in from the file's own: {"input": "${isl}", "requests":
/// "${= 10 * conc}"} renames one and computes another. Keeps rows that pass `where`. Throws Error
/// naming file and line, and if no row is left.
std::vector<PatternRow> read_pattern_rows(const JsonObject& rows,
                                          const std::filesystem::path& folder);

/// What the words "columns" of a file and of a rule are to be followed by.
inline constexpr const char* kColumns = "names and what they hold";

/// Adds columns to a row, each filled in from those that it has; one that is empty is null. Throws
/// Error as filled_in.
void add_columns(const nlohmann::json& columns, PatternRow& row);

/// Whether every column of `where` has the given value, one of a list, or lies within {"from",
/// "to", "above", "before", "not"}: from and to are included, above and before are not; `not` is a
/// value or a list. Numbers compare as numbers, all else as text (dates as 2026-01-31); an empty
/// value lies in no range. Throws Error naming the row for an unknown column or word.
bool passes(const PatternRow& row, const nlohmann::json& where);

/// `pattern` with "${column}" replaced by the row's values, in objects and lists at any depth, and
/// "${= formula}" by what it comes to (manifest_formula.hpp). A text that consists only of one of
/// them becomes that value, a number if it parses as one; an empty value (or null, or a formula
/// that uses one) removes its key. Dots address nested values: "${stages.0.ttft_mean}". For an
/// unknown column throws Error naming the row and the columns it has.
nlohmann::json filled_in(const nlohmann::json& pattern, const PatternRow& row);

}  // namespace roofcast

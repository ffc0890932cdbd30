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

/// Reads the rows of the file in {"file", "where"}, relative to `folder`: CSV with a header line
/// (.csv, .csv.gz) or a JSON array of objects (.json, .json.gz). Keeps rows in which every key of
/// `where` has the given value (or one of a list). Throws Error naming file and line.
std::vector<PatternRow> read_pattern_rows(const JsonObject& rows,
                                          const std::filesystem::path& folder);

/// `pattern` with "${column}" replaced by the row's values, in objects and lists at any depth. A
/// text that consists only of "${column}" becomes the row's value, a number if it parses as one; an
/// empty value (or null) removes its key. Dots address nested values: "${stages.0.ttft_mean}". For
/// an unknown column throws Error naming the row and the columns it has.
nlohmann::json filled_in(const nlohmann::json& pattern, const PatternRow& row);

}  // namespace roofcast

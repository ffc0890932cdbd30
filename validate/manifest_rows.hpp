// The rows of a table as cases of a manifest: one pattern, "${column}" in its texts, a case a row.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulator/io/json_object.hpp"

namespace roofcast {

/// More is a mistake: every row is a prediction.
inline constexpr std::size_t kMaxRows = 100'000;

/// A row: the values of a JSON object, or the fields of a line of CSV as texts.
struct PatternRow {
  nlohmann::json values;
  std::string place;  // "runs.csv, line 12", for messages
};

/// The rows of the file that {"file", "where"} names, relative to `folder`: CSV with a header line
/// (.csv, .csv.gz) or a JSON array of objects (.json, .json.gz), as far as every key of `where` has
/// the value asked for (or one of a list). Throws Error naming file and line.
std::vector<PatternRow> read_pattern_rows(const JsonObject& rows,
                                          const std::filesystem::path& folder);

/// `pattern` with what the row says instead of "${column}", within objects and lists at any depth.
/// A text that is nothing else becomes the row's value, a number where it reads as one; an empty
/// one (or null) takes its key out. Dots lead into nested values: "${stages.0.ttft_mean}". Throws
/// Error naming the row and the columns it has for one that is not there.
nlohmann::json filled_in(const nlohmann::json& pattern, const PatternRow& row);

}  // namespace roofcast

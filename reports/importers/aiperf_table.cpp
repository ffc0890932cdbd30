// The CSV that aiperf and genai-perf write next to their JSON: a block of distributions ("Metric,
// avg,min,..."), a blank line, a block of values ("Metric,Value"). Metric names are written for
// readers, with the unit in brackets ("Time to First Token (ms)"); they are mapped to the JSON's
// keys. The file has no setting; further blocks (GPU telemetry) are skipped.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/io/csv.hpp"
#include "base/io/line_reader.hpp"
#include "base/text.hpp"
#include "reports/importers/text_formats.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

/// "Time to First Token" becomes time_to_first_token.
std::string tag_of(std::string_view name) {
  std::string tag = lower(name);
  std::replace(tag.begin(), tag.end(), ' ', '_');
  while (tag.ends_with('_')) tag.pop_back();
  return tag;
}

struct Row {
  std::string tag{};
  json figures = json::object();  // its unit, and one value per column
};

/// Removes thousands separators: "1,146.31" is one number.
std::string without_separators(std::string text) {
  std::erase(text, ',');
  return text;
}

Row row_of(const std::vector<std::string>& header, const std::vector<std::string>& fields) {
  const std::string& name = fields[0];
  const std::size_t open = name.rfind('(');
  const std::size_t close = name.rfind(')');
  const bool has_unit = open != std::string::npos && close != std::string::npos && open < close;
  Row row{.tag = tag_of(name.substr(0, has_unit ? open : name.size()))};
  row.figures["unit"] = has_unit ? name.substr(open + 1, close - open - 1) : "count";
  for (std::size_t i = 1; i < header.size(); ++i) {
    const std::string key = header[i] == "Value" ? "avg" : header[i];
    if (!fields[i].empty()) row.figures[key] = without_separators(fields[i]);
  }
  return row;
}

}  // namespace

bool is_aiperf_table(std::string_view head) {
  return without_byte_order_mark(head).starts_with("Metric,avg,");
}

MeasuredRuns read_aiperf_table(ByteSource& bytes, const ImportOptions&) {
  LineReader lines(bytes);
  json object = json::object();
  std::vector<std::string> header;
  std::vector<std::string> fields;
  std::string_view line;
  while (lines.next(line)) {
    const std::string origin = fmt::format("{}, line {}", bytes.name(), lines.line_number());
    if (!split_csv(line, fields)) throw Error(origin + ": unclosed quote");
    const bool blank = std::all_of(fields.begin(), fields.end(),
                                   [](const std::string& field) { return field.empty(); });
    if (blank) {
      header.clear();
    } else if (header.empty()) {
      header = fields;
    } else if (header[0] == "Metric") {
      if (fields.size() != header.size()) {
        throw Error(fmt::format("{}: has {} fields, expected {} as the header has", origin,
                                fields.size(), header.size()));
      }
      Row row = row_of(header, fields);
      object[row.tag] = std::move(row.figures);
    }
  }
  MeasuredRuns runs;
  read_aiperf(JsonReader(object, bytes.name(), kLenientJson), runs);
  runs.back().format = "aiperf-table";
  return runs;
}

}  // namespace roofcast

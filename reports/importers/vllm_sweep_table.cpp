// summary.csv of `vllm bench sweep serve`: one row per run, with the keys of its result as columns.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/io/csv.hpp"
#include "base/io/line_reader.hpp"
#include "reports/importers/text_formats.hpp"

namespace roofcast {
namespace {

/// Lists that pandas wrote as strings are skipped: a table yields no requests.
nlohmann::json object_of(const std::vector<std::string>& header,
                         const std::vector<std::string>& fields) {
  nlohmann::json object = nlohmann::json::object();
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string& field = fields[i];
    if (header[i].empty() || field.empty() || field.starts_with('[')) continue;
    object[header[i]] = field;
  }
  return object;
}

}  // namespace

bool is_vllm_sweep_table(std::string_view head) {
  const std::string_view header = head.substr(0, head.find('\n'));
  return header.find(',') != std::string_view::npos && !header.starts_with('{') &&
         header.find("request_throughput") != std::string_view::npos &&
         header.find("num_prompts") != std::string_view::npos;
}

MeasuredRuns read_vllm_sweep_table(ByteSource& bytes, const ImportOptions&) {
  LineReader lines(bytes);
  MeasuredRuns runs;
  std::vector<std::string> header;
  std::vector<std::string> fields;
  std::string_view line;
  while (lines.next_filled(line)) {
    const std::string origin = fmt::format("{}, line {}", bytes.name(), lines.line_number());
    if (!split_csv(line, fields)) throw Error(origin + ": unclosed quote");
    if (header.empty()) {
      header = fields;
      continue;
    }
    if (fields.size() != header.size()) {
      throw Error(fmt::format("{}: has {} fields, expected {} as the header has", origin,
                              fields.size(), header.size()));
    }
    const nlohmann::json object = object_of(header, fields);
    read_vllm_serve(JsonReader(object, origin, kLenientJson), runs);
  }
  return runs;
}

}  // namespace roofcast

// guidellm's benchmarks.csv, 0.4 on: a header of three lines (group, field, unit or statistic),
// then one benchmark per line. Mapped to the JSON report's keys and read by its reader. The header
// is that of the first benchmark: if that had no failed requests and a later one had, the later
// line has more columns, and the file does not say which.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/io/csv.hpp"
#include "base/io/line_reader.hpp"
#include "reports/importers/text_formats.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

struct Metric {
  std::string_view group, field, key;
};

/// Distributions over successful requests.
constexpr std::array kMetrics = {
    Metric{"Request Latency", "Successful Sec", "request_latency"},
    Metric{"Time to First Token", "Successful ms", "time_to_first_token_ms"},
    Metric{"Inter Token Latency", "Successful ms", "inter_token_latency_ms"},
    Metric{"Time per Output Token", "Successful ms", "time_per_output_token_ms"},
    Metric{"Server Throughput", "Successful Requests/Sec", "requests_per_second"},
    Metric{"Server Throughput", "Successful Concurrency", "request_concurrency"},
    Metric{"Token Throughput", "Successful Output Tokens/Sec", "output_tokens_per_second"},
    Metric{"Token Throughput", "Successful Total Tokens/Sec", "tokens_per_second"},
    Metric{"Token Metrics", "Successful Input Tokens", "prompt_token_count"},
    Metric{"Token Metrics", "Successful Output Tokens", "output_token_count"},
};

/// Order of the percentiles in a cell.
constexpr std::array<const char*, 11> kPercentiles = {"min", "p001", "p01", "p05", "p10", "p25",
                                                      "p75", "p90",  "p95", "p99", "max"};

using Fields = std::vector<std::string>;

struct Head {
  Fields group, field, unit;
};

/// Parses "[0.1, 0.2, ...]"; ignores a cell with anything else.
void add_percentiles(json& distribution, const std::string& cell) {
  const json values = json::parse(cell, nullptr, false);
  if (!values.is_array() || values.size() != kPercentiles.size()) return;
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
    distribution["percentiles"][kPercentiles[i]] = values[i];
  }
}

void add_statistic(json& distribution, const std::string& statistic, const std::string& cell) {
  if (statistic == "Mean") distribution["mean"] = cell;
  if (statistic == "Median") distribution["median"] = cell;
  if (statistic == "Std Dev") distribution["std_dev"] = cell;
  if (statistic == "Percentiles") add_percentiles(distribution, cell);
}

void add_cell(json& benchmark, const Head& head, std::size_t at, const std::string& cell) {
  const std::string& group = head.group[at];
  const std::string& field = head.field[at];
  for (const Metric& known : kMetrics) {
    if (group != known.group || field != known.field) continue;
    add_statistic(benchmark["metrics"][std::string(known.key)]["successful"], head.unit[at], cell);
  }
  if (group == "Timings" && field == "Duration") benchmark["duration"] = cell;
  if (group == "Request Counts" && field == "Successful") {
    benchmark["request_totals"]["successful"] = cell;
  }
  if (group == "Request Counts" && field == "Errored")
    benchmark["request_totals"]["errored"] = cell;
  if (group == "Request Counts" && field == "Incomplete") {
    benchmark["request_totals"]["incomplete"] = cell;
  }
  if (group == "Benchmark" && field == "Strategy") {
    benchmark["config"]["strategy"]["type_"] = cell;
  }
}

/// The model, if the description of the backend names it.
std::string model_in(const Head& head, const Fields& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (head.group[i] != "Run Info" || head.field[i] != "Backend") continue;
    const json backend = json::parse(fields[i], nullptr, false);
    if (backend.is_object() && backend.contains("model") && backend["model"].is_string()) {
      return backend["model"].get<std::string>();
    }
  }
  return {};
}

/// The next line of the file, which must have `columns` fields unless that is 0.
bool next_row(LineReader& lines, const std::string& name, std::size_t columns, Fields& fields) {
  std::string_view line;
  if (!lines.next_filled(line)) return false;
  const std::string origin = fmt::format("{}, line {}", name, lines.line_number());
  if (!split_csv(line, fields)) throw Error(origin + ": unclosed quote");
  if (columns != 0 && fields.size() != columns) {
    throw Error(
        fmt::format("{}: has {} fields, expected {} as in the header (benchmarks with failed "
                    "requests have more; guidellm's JSON names them)",
                    origin, fields.size(), columns));
  }
  return true;
}

}  // namespace

bool is_guidellm_table(std::string_view head) {
  const std::string_view groups = head.substr(0, head.find('\n'));
  return groups.find("Run Info,") != std::string_view::npos &&
         groups.find("Request Latency,") != std::string_view::npos;
}

MeasuredRuns read_guidellm_table(ByteSource& bytes, const ImportOptions&) {
  LineReader lines(bytes);
  Head head;
  if (!next_row(lines, bytes.name(), 0, head.group)) return {};
  const std::size_t columns = head.group.size();
  const bool complete = next_row(lines, bytes.name(), columns, head.field) &&
                        next_row(lines, bytes.name(), columns, head.unit);
  if (!complete) {
    throw Error(bytes.name() + ": ends inside its header, expected three header lines");
  }
  MeasuredRuns runs;
  Fields fields;
  while (next_row(lines, bytes.name(), columns, fields)) {
    json benchmark = json::object();
    for (std::size_t i = 0; i < columns; ++i) {
      if (!fields[i].empty()) add_cell(benchmark, head, i, fields[i]);
    }
    const json report = {{"args", {{"model", model_in(head, fields)}}},
                         {"benchmarks", json::array({benchmark})}};
    const std::string origin = fmt::format("{}, line {}", bytes.name(), lines.line_number());
    read_guidellm(JsonReader(report, origin, kLenientJson), runs);
    runs.back().origin = origin;
    runs.back().format = "guidellm-table";
  }
  return runs;
}

}  // namespace roofcast

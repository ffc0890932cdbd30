#include "reports/importers/prometheus_series.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/io/json_reader.hpp"
#include "base/io/line_reader.hpp"
#include "base/io/shown.hpp"
#include "base/text.hpp"
#include "reports/importers/result_objects.hpp"

namespace roofcast {
namespace {

bool is_ours(std::string_view name) {
  return name.starts_with("vllm:") || name.starts_with("sglang:");
}

/// `rest` starts after the opening quote and is left after the closing one; nullopt if there is
/// none. Unescapes \" \\ and
/// .
std::optional<std::string> read_quoted(std::string_view& rest) {
  std::string value;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
    value += rest[i];
  }
  return std::nullopt;
}

/// `rest` starts after the opening brace and is left after the closing one. Returns false if
/// malformed.
bool read_labels(std::string_view& rest, Labels& labels) {
  for (;;) {
    rest = trimmed(rest);
    if (rest.starts_with('}')) {
      rest.remove_prefix(1);
      return true;
    }
    const std::size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return false;
    const std::string name(rest.substr(0, equals));
    rest.remove_prefix(equals + 2);
    auto value = read_quoted(rest);
    if (!value) return false;
    labels[name] = *std::move(value);
    rest = trimmed(rest);
    if (rest.starts_with(',')) rest.remove_prefix(1);
  }
}

/// Parses "name{label="value"} 12 1700000000".
bool read_sample(std::string_view line, Scrape& scrape) {
  const std::size_t end = line.find_first_of("{ \t");
  if (end == std::string_view::npos) return false;
  const std::string name(line.substr(0, end));
  std::string_view rest = line.substr(end);
  Labels labels;
  if (rest.starts_with('{')) {
    rest.remove_prefix(1);
    if (!read_labels(rest, labels)) return false;
  }
  rest = trimmed(rest);
  const auto value = number_in(rest.substr(0, rest.find_first_of(" \t")));
  if (value && std::isfinite(*value)) scrape.series[name][labels] = *value;
  return value.has_value();
}

Scrape read_text(ByteSource& bytes) {
  Scrape scrape;
  LineReader lines(bytes);
  std::string_view line;
  while (lines.next(line)) {
    line = trimmed(line);
    if (!is_ours(line) || read_sample(line, scrape)) continue;
    throw Error(fmt::format("{}:{}: '{}' is not a sample, expected NAME{{LABELS}} VALUE",
                            bytes.name(), lines.line_number(), shown(line)));
  }
  return scrape;
}

/// The last value of a query_range, or the value of a query: [time, "text"].
std::optional<double> value_of(const JsonReader& result) {
  const nlohmann::json* pair = nullptr;
  if (result.has("value")) pair = &result.value().at("value");
  if (result.has("values")) {
    const nlohmann::json& pairs = result.value().at("values");
    if (pairs.is_array() && !pairs.empty()) pair = &pairs.back();
  }
  if (pair == nullptr || !pair->is_array() || pair->size() != 2) return std::nullopt;
  return number_in((*pair)[1]);
}

void add_answer(const JsonReader& answer, Scrape& scrape) {
  for (const JsonReader& result : answer.part("data").objects("result")) {
    const JsonReader metric = result.part("metric");
    const std::string name = metric.text("__name__").value_or("");
    if (!is_ours(name)) continue;
    const auto value = value_of(result);
    if (!value) result.refuse("value", "[time, \"number\"]");
    Labels labels;
    for (const auto& [key, text] : metric.value().items()) {
      if (key != "__name__") labels[key] = metric.text(key).value_or("");
    }
    if (std::isfinite(*value)) scrape.series[name][labels] = *value;
  }
}

bool counts_up(const std::string& name) {
  return name.ends_with("_total") || name.ends_with("_bucket") || name.ends_with("_sum") ||
         name.ends_with("_count");
}

/// The labels that identify a process: all except those that separate series of one metric.
Labels process_of(Labels labels) {
  constexpr std::array kOfTheMetric = {"le",           "finished_reason", "position",
                                       "cache_source", "is_streaming",    "reason",
                                       "source",       "quantile"};
  for (const char* label : kOfTheMetric) labels.erase(label);
  return labels;
}

/// Calls `see(labels, value, earlier value)` for every counter that is in both scrapes.
template <class See>
void for_each_pair(Scrape& after, const Scrape& before, See see) {
  for (auto& [name, samples] : after.series) {
    const auto earlier = before.series.find(name);
    if (!counts_up(name) || earlier == before.series.end()) continue;
    for (auto& [labels, value] : samples) {
      const auto old = earlier->second.find(labels);
      if (old != earlier->second.end()) see(labels, value, old->second);
    }
  }
}

}  // namespace

Scrape read_scrape(ByteSource& bytes) {
  const std::string_view head = trimmed(bytes.peek());
  if (!head.starts_with('{')) return read_text(bytes);
  Scrape scrape;
  ResultObjects answers(bytes);
  while (const auto answer = answers.next()) add_answer(*answer, scrape);
  return scrape;
}

Scrape since(const Scrape& after, const Scrape& before, int& restarts) {
  Scrape difference = after;
  std::set<Labels> restarted;
  for_each_pair(difference, before, [&](const Labels& labels, double& value, double old) {
    if (value < old) restarted.insert(process_of(labels));
  });
  for_each_pair(difference, before, [&](const Labels& labels, double& value, double old) {
    if (!restarted.contains(process_of(labels))) value -= old;
  });
  restarts = static_cast<int>(restarted.size());
  return difference;
}

}  // namespace roofcast

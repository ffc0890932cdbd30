#include "reports/importers/prometheus_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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

/// A metric of an engine under this project's prefix for it, "trtllm:" where trtllm-serve says
/// "trtllm_"; empty if it is another's.
std::string our_name(std::string_view name) {
  constexpr std::string_view kTensorRt = "trtllm_";
  if (name.starts_with(kTensorRt)) return fmt::format("trtllm:{}", name.substr(kTensorRt.size()));
  const bool ours =
      name.starts_with("vllm:") || name.starts_with("sglang:") || name.starts_with("trtllm:");
  return std::string(ours ? name : std::string_view{});
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
  const std::string name = our_name(line.substr(0, end));
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
    if (our_name(line).empty() || read_sample(line, scrape)) continue;
    throw Error(fmt::format("{}:{}: '{}' is not a sample, expected NAME{{LABELS}} VALUE",
                            bytes.name(), lines.line_number(), shown(line)));
  }
  return scrape;
}

std::pair<double, double> sample_of(const JsonReader& result, const char* key,
                                    const nlohmann::json& pair) {
  const bool two = pair.is_array() && pair.size() == 2;
  const auto time = two ? number_in(pair[0]) : std::nullopt;
  const auto value = two ? number_in(pair[1]) : std::nullopt;
  if (!time || !value) result.refuse(key, pair, "[time, \"number\"]");
  return {*time, *value};
}

void add_answer(const JsonReader& answer, ScrapeRange& range) {
  if (answer.text("status") == "error") {
    throw Error(fmt::format("{}: is an error of Prometheus's, not an answer: {}", answer.where(),
                            shown(answer.text("error").value_or("without a text"))));
  }
  for (const JsonReader& result : answer.part("data").objects("result")) {
    const JsonReader metric = result.part("metric");
    const std::string name = our_name(metric.text("__name__").value_or(""));
    if (name.empty()) continue;
    Labels labels;
    for (const auto& [key, text] : metric.value().items()) {
      if (key != "__name__") labels[key] = metric.text(key).value_or("");
    }
    auto& samples = range.series[name][labels];
    const auto add = [&](const char* key, const nlohmann::json& pair) {
      const auto sample = sample_of(result, key, pair);
      if (std::isfinite(sample.first) && std::isfinite(sample.second)) samples.push_back(sample);
    };
    const nlohmann::json* many = result.list("values", "a list of [time, \"number\"]");
    if (many != nullptr) {
      for (const nlohmann::json& pair : *many) add("values", pair);
    } else {
      add("value", result.required("value", "[time, \"number\"]"));
      range.has_instants = true;
    }
    std::stable_sort(samples.begin(), samples.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
  }
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

bool counts_up(const std::string& name) {
  return name.ends_with("_total") || name.ends_with("_bucket") || name.ends_with("_sum") ||
         name.ends_with("_count");
}

void append_later(std::vector<std::pair<double, double>>& samples,
                  const std::vector<std::pair<double, double>>& more) {
  for (const auto& sample : more) {
    if (samples.empty() || sample.first > samples.back().first) samples.push_back(sample);
  }
}

Scrape read_scrape(ByteSource& bytes) {
  const std::string_view head = trimmed(bytes.peek());
  if (!head.starts_with('{')) return read_text(bytes);
  return last_of(read_range(bytes));
}

Scrape last_of(const ScrapeRange& range) {
  Scrape scrape;
  for (const auto& [name, all] : range.series) {
    for (const auto& [labels, samples] : all) {
      if (!samples.empty()) scrape.series[name][labels] = samples.back().second;
    }
  }
  return scrape;
}

ScrapeRange read_range(ByteSource& bytes) {
  ScrapeRange range;
  ResultObjects answers(bytes);
  while (const auto answer = answers.next()) add_answer(*answer, range);
  return range;
}

double rise(double before, double after) { return after < before ? after : after - before; }

Scrape rise_of(const ScrapeRange& range) {
  Scrape risen;
  for (const auto& [name, all] : range.series) {
    for (const auto& [labels, samples] : all) {
      if (samples.empty()) continue;
      double value = counts_up(name) ? 0 : samples.back().second;
      for (std::size_t i = 1; counts_up(name) && i < samples.size(); ++i) {
        value += rise(samples[i - 1].second, samples[i].second);
      }
      risen.series[name][labels] = value;
    }
  }
  return risen;
}

double duration_of(const ScrapeRange& range) {
  if (range.has_instants) return 0;
  double first = std::numeric_limits<double>::infinity();
  double last = -first;
  for (const auto& [name, all] : range.series) {
    for (const auto& [labels, samples] : all) {
      if (samples.size() < 2) continue;  // came up at the end
      first = std::min(first, samples.front().first);
      last = std::max(last, samples.back().first);
    }
  }
  return last > first ? last - first : 0;
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

std::optional<double> sum_of(const Scrape& scrape, const std::string& name) {
  const auto found = scrape.series.find(name);
  if (found == scrape.series.end()) return std::nullopt;
  double sum = 0;
  for (const auto& [labels, value] : found->second) sum += value;
  return sum;
}

std::optional<double> mean_of(const Scrape& scrape, const std::string& name) {
  const auto sum = sum_of(scrape, name + "_sum");
  const auto count = sum_of(scrape, name + "_count");
  return sum && count && *count > 0 ? std::optional(*sum / *count) : std::nullopt;
}

/// Cumulative counts by upper bound, summed over all labels.
std::map<double, double> buckets_of(const Scrape& scrape, const std::string& name) {
  std::map<double, double> buckets;
  const auto found = scrape.series.find(name + "_bucket");
  if (found == scrape.series.end()) return buckets;
  for (const auto& [labels, value] : found->second) {
    const auto bound = labels.find("le");
    // "1" and "1.0" are the same bound.
    const auto limit =
        bound == labels.end() ? std::nullopt : number_in(std::string_view(bound->second));
    if (limit && !std::isnan(*limit)) buckets[*limit] += value;
  }
  return buckets;
}

}  // namespace roofcast

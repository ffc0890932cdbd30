#include "cli/compare_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/paired_difference.hpp"
#include "roofcast/envelope.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {
namespace {

using Key = std::pair<std::string, std::string>;     // name, statistic
using Figures = std::vector<std::optional<double>>;  // one per run; absent if it has none

std::map<Key, Figures> metrics_of(const std::vector<Run>& runs) {
  std::map<Key, Figures> metrics;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const MetricRow& row : runs[i].metrics) {
      Figures& figures = metrics[{row.name, row.statistic}];
      figures.resize(runs.size());
      figures[i] = row.value;
    }
  }
  return metrics;
}

/// (b - a) / a; nullopt if one is absent, or a is 0 and b is not.
std::optional<double> relative_difference(const std::optional<double>& a,
                                          const std::optional<double>& b) {
  if (!a || !b) return std::nullopt;
  if (*a == *b) return 0.0;
  if (*a == 0) return std::nullopt;
  return (*b - *a) / std::abs(*a);
}

// ---- per-request figures

using Latency = std::optional<double> (*)(const RequestRow&);

std::optional<double> between(const std::optional<double>& from, const std::optional<double>& to) {
  if (!from || !to) return std::nullopt;
  return *to - *from;
}

double sent(const RequestRow& row) { return row.sent_s.value_or(row.arrival_s); }

std::optional<double> ttft_of(const RequestRow& row) {
  return row.finished_s ? between(sent(row), row.first_token_s) : std::nullopt;
}

std::optional<double> tpot_of(const RequestRow& row) {
  if (row.output_tokens < 2) return std::nullopt;
  const auto time = between(row.first_token_s, row.finished_s);
  if (!time) return std::nullopt;
  return *time / static_cast<double>(row.output_tokens - 1);
}

std::optional<double> e2e_of(const RequestRow& row) { return between(sent(row), row.finished_s); }

struct NamedLatency {
  const char* name;
  Latency latency;
};
constexpr std::array kLatencies = {NamedLatency{"ttft_s", ttft_of}, NamedLatency{"tpot_s", tpot_of},
                                   NamedLatency{"e2e_s", e2e_of}};

/// Nullopt if it is not a mean or percentile over requests.
std::optional<RequestStatistic> statistic_of(const std::string& name) {
  if (name == "mean") return RequestStatistic{};
  const DistributionStatistic* statistic = table_statistic(name);
  if (statistic == nullptr || !statistic->percent) return std::nullopt;
  return RequestStatistic{.percent = statistic->percent};
}

RequestValues values_of(const Run& run, Latency latency) {
  RequestValues values;
  for (const RequestRow& row : run.requests) values.push_back(latency(row));
  return values;
}

/// The same requests in the same order, regardless of arrival times.
bool same_requests(const Run& a, const Run& b) {
  return std::equal(a.requests.begin(), a.requests.end(), b.requests.begin(), b.requests.end(),
                    [](const RequestRow& one, const RequestRow& other) {
                      return one.input_tokens == other.input_tokens &&
                             one.output_tokens == other.output_tokens;
                    });
}

/// Whether the kept requests give the figure: they include warm-up requests, which figures exclude.
bool reproduces(const RequestValues& values, const RequestStatistic& statistic,
                const std::optional<double>& figure) {
  constexpr double kRounding = 1e-6;  // TPOT is rounded to the nanosecond
  const auto found = roofcast::statistic_of(values, statistic);
  return found && figure && std::abs(*found - *figure) <= kRounding * std::abs(*figure);
}

/// One figure of one run compared with the first.
struct Compared {
  std::size_t run = 0;  // index of the run
  Key key{};
  bool paired = false;
  Difference difference{};
};

std::optional<Difference> difference_of(const std::vector<Run>& runs, std::size_t other,
                                        const NamedLatency& latency, const Key& key,
                                        const Figures& figures, bool paired) {
  const auto statistic = statistic_of(key.second);
  if (!statistic) return std::nullopt;
  const RequestValues before = values_of(runs.front(), latency.latency);
  const RequestValues after = values_of(runs[other], latency.latency);
  const bool usable = reproduces(before, *statistic, figures.front()) &&
                      reproduces(after, *statistic, figures[other]);
  if (!usable) return std::nullopt;
  return block_difference(before, after, *statistic, paired);
}

std::vector<Compared> compared_by_requests(const std::vector<Run>& runs,
                                           const std::map<Key, Figures>& metrics) {
  std::vector<Compared> result;
  for (std::size_t other = 1; other < runs.size(); ++other) {
    if (runs.front().requests.empty() || runs[other].requests.empty()) continue;
    const bool paired = same_requests(runs.front(), runs[other]);
    for (const auto& [key, figures] : metrics) {
      const auto* latency =
          std::find_if(kLatencies.begin(), kLatencies.end(),
                       [&name = key.first](const NamedLatency& one) { return name == one.name; });
      if (latency == kLatencies.end()) continue;
      const auto difference = difference_of(runs, other, *latency, key, figures, paired);
      if (difference) result.push_back({other, key, paired, *difference});
    }
  }
  return result;
}

// ---- JSON

Json run_json(const Run& run) {
  return {{"id", run.row.id},
          {"kind", run.row.kind},
          {"model", run.row.model},
          {"gpu", run.row.gpu},
          {"engine", run.row.engine},
          {"summary", run.row.summary},
          {"created_at", run.row.created_at}};
}

Json value_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json metric_json(const Key& key, const Figures& figures) {
  Json json = {{"name", key.first}, {"statistic", key.second}};
  if (figures.size() == 2) {
    json["a"] = value_json(figures[0]);
    json["b"] = value_json(figures[1]);
    json["relative_change"] = value_json(relative_difference(figures[0], figures[1]));
  }
  json["values"] = Json::array();
  json["relative_changes"] = Json::array();
  for (const std::optional<double>& figure : figures) {
    json["values"].push_back(value_json(figure));
    json["relative_changes"].push_back(value_json(relative_difference(figures.front(), figure)));
  }
  return json;
}

Json difference_json(const Compared& compared, const std::vector<Run>& runs) {
  const Difference& difference = compared.difference;
  return {{"id", runs[compared.run].row.id},
          {"name", compared.key.first},
          {"statistic", compared.key.second},
          {"same_requests", compared.paired},
          {"difference", difference.mean},
          {"difference_low", value_json(difference.low)},
          {"difference_high", value_json(difference.high)},
          {"significant", difference.low ? Json(difference.significant()) : Json(nullptr)}};
}

Json machine_of(const std::vector<Run>& runs, const std::string& path,
                const std::map<Key, Figures>& metrics, const std::vector<Compared>& compared) {
  Json ids = Json::array();
  for (const Run& run : runs) ids.push_back(run.row.id);
  Json inputs = {{"store", path}, {"runs", std::move(ids)}};
  if (runs.size() == 2) {
    inputs["a"] = runs[0].row.id;
    inputs["b"] = runs[1].row.id;
  }
  Json json = envelope("compare", std::move(inputs));
  if (runs.size() == 2) {
    json["a"] = run_json(runs[0]);
    json["b"] = run_json(runs[1]);
  }
  json["runs"] = Json::array();
  for (const Run& run : runs) json["runs"].push_back(run_json(run));
  json["metrics"] = Json::array();
  for (const auto& [key, figures] : metrics) json["metrics"].push_back(metric_json(key, figures));
  json["differences"] = Json::array();
  for (const Compared& one : compared) json["differences"].push_back(difference_json(one, runs));
  return json;
}

// ---- text

std::string name_of(const Run& run) { return fmt::format("Run {}", run.row.id); }

std::string headline_of(const Run& run) {
  return fmt::format("{}: {} of {} on {}, {}: {}", name_of(run), run.row.kind, run.row.model,
                     run.row.gpu, run.row.engine, run.row.summary);
}

std::string value_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

Table metric_table(const std::vector<Run>& runs, const std::map<Key, Figures>& metrics) {
  Table table{.title = "",
              .columns = {{"Metric", false}, {"Statistic", false}, {name_of(runs.front())}},
              .rows = {}};
  for (std::size_t i = 1; i < runs.size(); ++i) {
    table.columns.push_back({name_of(runs[i])});
    table.columns.push_back({"Change"});
  }
  for (const auto& [key, figures] : metrics) {
    std::vector<std::string> cells = {key.first, key.second, value_text(figures.front())};
    for (std::size_t i = 1; i < figures.size(); ++i) {
      const auto change = relative_difference(figures.front(), figures[i]);
      cells.push_back(value_text(figures[i]));
      cells.push_back(change ? fmt::format("{:+.1f} %", 100 * *change) : std::string());
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Section differences_of(const std::vector<Run>& runs, const std::vector<Compared>& compared) {
  Section section{.heading = "Compared by requests",
                  .lines = {},
                  .table = {.title = "",
                            .columns = {{"Run", false},
                                        {"Metric", false},
                                        {"Statistic", false},
                                        {"Difference"},
                                        {"Low"},
                                        {"High"},
                                        {"Significant", false}},
                            .rows = {}}};
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const auto one = std::find_if(compared.begin(), compared.end(),
                                  [i](const Compared& c) { return c.run == i; });
    if (one == compared.end()) continue;
    section.lines.push_back(
        fmt::format("{} and {} served {}", name_of(runs[i]), name_of(runs.front()),
                    one->paired ? "the same requests, compared pairwise" : "different requests"));
  }
  section.lines.push_back(fmt::format(
      "each at 95 %, from leaving out each of {} blocks of neighbouring requests in turn",
      kBlocks));
  for (const Compared& one : compared) {
    const Difference& difference = one.difference;
    section.table.rows.push_back(
        {fmt::format("{}", runs[one.run].row.id), one.key.first, one.key.second,
         fmt::format("{:+.4g}", difference.mean),
         difference.low ? fmt::format("{:+.4g}", *difference.low) : std::string("-"),
         difference.high ? fmt::format("{:+.4g}", *difference.high) : std::string("-"),
         !difference.low            ? "-"
         : difference.significant() ? "yes"
                                    : "no"});
  }
  return section;
}

}  // namespace

Document compare_document(const std::vector<Run>& runs, const std::string& path) {
  const std::map<Key, Figures> metrics = metrics_of(runs);
  const std::vector<Compared> compared = compared_by_requests(runs, metrics);
  Document document{.machine = machine_of(runs, path, metrics, compared), .sections = {}};
  std::string others;
  Section head;
  for (const Run& run : runs) {
    head.lines.push_back(headline_of(run));
    if (&run != runs.data()) others += (others.empty() ? "" : ", ") + name_of(run);
  }
  head.heading = fmt::format("{} compared with {}", others, name_of(runs.front()));
  head.table = metric_table(runs, metrics);
  document.sections.push_back(std::move(head));
  if (!compared.empty()) document.sections.push_back(differences_of(runs, compared));
  return document;
}

}  // namespace roofcast

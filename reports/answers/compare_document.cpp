#include "base/joined.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/compare.hpp"
#include "roofcast/stored_runs.hpp"
#include "roofcast/what_if.hpp"
#include "simulator/results/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace roofcast {
namespace {

std::string name_of(std::int64_t id) { return fmt::format("Run {}", id); }

std::string headline_of(const ComparedRun& run) {
  return fmt::format(
      "{}: {}: {}", name_of(run.id),
      words_of({.kind = run.kind, .model = run.model, .gpu = run.gpu, .engine = run.engine}),
      run.summary);
}

MetricName name_of(const ComparedMetric& metric) { return {metric.name, metric.statistic}; }

/// "-12.3 % (better)"
Cell change_cell(const ComparedMetric& metric, const std::optional<double>& change) {
  constexpr double kVisible = 0.0005;
  if (!change) return "";
  const Printed figure = signed_percent(*change);
  const auto more = more_is_better(name_of(metric));
  if (!more || std::abs(*change) < kVisible) return figure;
  return followed(figure, *more == (*change > 0) ? " (better)" : " (worse)");
}

/// Latencies first, in the order of every answer (TTFT, TPOT ...), then what else is judged, then
/// the rest.
std::size_t place_of(const ComparedMetric& metric) {
  if (const LatencyFigure* latency = latency_named(metric.name)) {
    return static_cast<std::size_t>(latency - kLatencyFigures.data());
  }
  return kLatencyFigures.size() + (more_is_better(name_of(metric)) ? 0 : 1);
}

/// A latency that no run has: requests that never wait at the client.
bool is_idle(const ComparedMetric& metric) {
  return place_of(metric) < kLatencyFigures.size() &&
         std::ranges::all_of(metric.values, [](const auto& value) { return value == 0.0; });
}

std::vector<const ComparedMetric*> in_reading_order(const CompareAnswer& answer) {
  std::vector<const ComparedMetric*> order;
  for (const ComparedMetric& metric : answer.metrics) {
    if (!is_idle(metric)) order.push_back(&metric);
  }
  std::ranges::stable_sort(order, {},
                           [](const ComparedMetric* metric) { return place_of(*metric); });
  return order;
}

Table metric_table(const CompareAnswer& answer) {
  Table table{.title = "", .columns = {{"Metric", false}}, .rows = {}};
  for (const ComparedRun& run : answer.runs) {
    table.columns.push_back({name_of(run.id)});
    if (&run != answer.runs.data()) table.columns.push_back({"Change"});
  }
  for (const ComparedMetric* one : in_reading_order(answer)) {
    const ComparedMetric& metric = *one;
    std::vector<Cell> cells = {title_of(name_of(metric)),
                               value_cell(metric, metric.values.front())};
    for (std::size_t i = 1; i < metric.values.size(); ++i) {
      cells.push_back(value_cell(metric, metric.values[i]));
      cells.push_back(change_cell(metric, metric.changes[i]));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Printed signed_digits(double value) {
  const std::string text = fmt::format("{:+.4g}", value);
  return {text, text.starts_with('+') ? text.substr(1) : text};
}

Printed bound_cell(const std::optional<double>& bound) {
  return bound ? signed_digits(*bound) : "-";
}

Section differences_of(const CompareAnswer& answer) {
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
  std::int64_t last = 0;
  for (const ComparedRequests& one : answer.differences) {
    if (one.id == last) continue;
    last = one.id;
    section.lines.push_back(fmt::format(
        "{} and {} served {}", name_of(one.id), name_of(answer.runs.front().id),
        one.same_requests ? "the same requests, compared pairwise" : "different requests"));
  }
  section.lines.push_back(fmt::format(
      "each at 95 %, from leaving out each of {} blocks of neighbouring requests in turn",
      kBlocks));
  for (const ComparedRequests& one : answer.differences) {
    const Difference& difference = one.difference;
    section.table.rows.push_back({fmt::format("{}", one.id), one.name, one.statistic,
                                  signed_digits(difference.mean), bound_cell(difference.low),
                                  bound_cell(difference.high),
                                  !difference.low            ? "-"
                                  : difference.significant() ? "yes"
                                                             : "no"});
  }
  return section;
}

}  // namespace

Document compare_document(const CompareAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  Section head;
  for (const ComparedRun& run : answer.runs) head.lines.push_back(headline_of(run));
  const std::string others = joined(std::span(answer.runs).subspan(1),
                                    [](const ComparedRun& run) { return name_of(run.id); });
  head.heading = fmt::format("{} compared with {}", others, name_of(answer.runs.front().id));
  head.table = metric_table(answer);
  document.sections.push_back(std::move(head));
  if (!answer.differences.empty()) document.sections.push_back(differences_of(answer));
  return document;
}

}  // namespace roofcast

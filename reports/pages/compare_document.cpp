#include "reports/pages/answer_documents.hpp"
#include "roofcast/compare.hpp"
#include "roofcast/stored_runs.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

namespace roofcast {
namespace {

std::string name_of(std::int64_t id) { return fmt::format("Run {}", id); }

std::string headline_of(const ComparedRun& run) {
  return fmt::format(
      "{}: {}: {}", name_of(run.id),
      words_of({.kind = run.kind, .model = run.model, .gpu = run.gpu, .engine = run.engine}),
      run.summary);
}

std::string value_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

Table metric_table(const CompareAnswer& answer) {
  Table table{.title = "", .columns = {{"Metric", false}, {"Statistic", false}}, .rows = {}};
  for (const ComparedRun& run : answer.runs) {
    table.columns.push_back({name_of(run.id)});
    if (&run != answer.runs.data()) table.columns.push_back({"Change"});
  }
  for (const ComparedMetric& metric : answer.metrics) {
    std::vector<std::string> cells = {metric.name, metric.statistic,
                                      value_text(metric.values.front())};
    for (std::size_t i = 1; i < metric.values.size(); ++i) {
      const std::optional<double>& change = metric.changes[i];
      cells.push_back(value_text(metric.values[i]));
      cells.push_back(change ? fmt::format("{:+.1f} %", 100 * *change) : std::string());
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string bound_text(const std::optional<double>& bound) {
  return bound ? fmt::format("{:+.4g}", *bound) : "-";
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
                                  fmt::format("{:+.4g}", difference.mean),
                                  bound_text(difference.low), bound_text(difference.high),
                                  !difference.low            ? "-"
                                  : difference.significant() ? "yes"
                                                             : "no"});
  }
  return section;
}

}  // namespace

Document compare_document(const CompareAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  std::string others;
  Section head;
  for (const ComparedRun& run : answer.runs) {
    head.lines.push_back(headline_of(run));
    if (&run != answer.runs.data()) others += (others.empty() ? "" : ", ") + name_of(run.id);
  }
  head.heading = fmt::format("{} compared with {}", others, name_of(answer.runs.front().id));
  head.table = metric_table(answer);
  document.sections.push_back(std::move(head));
  if (!answer.differences.empty()) document.sections.push_back(differences_of(answer));
  return document;
}

}  // namespace roofcast

#include "cli/validate/validate_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/numbers.hpp"
#include "base/statistics.hpp"
#include "base/units.hpp"
#include "base/wording.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {
namespace {

// ---- words

/// "ttft_s p99"; a single figure by its name alone.
std::string metric_of(const std::string& name, const std::string& statistic) {
  return statistic == "value" ? name : name + " " + statistic;
}

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

std::string interval_of(const ComparedFigure& figure) {
  return measured_text(figure.name, figure.interval.low) + " to " +
         measured_text(figure.name, figure.interval.high);
}

// ---- for machines

Json figure_json(const ComparedFigure& figure) {
  const std::optional<double> error = relative_error(figure);
  return {{"name", figure.name},
          {"statistic", figure.statistic},
          {"measured", figure.measured},
          {"predicted", figure.predicted},
          {"relative_error", error ? Json(*error) : Json(nullptr)},
          {"interval_low", figure.interval.low},
          {"interval_high", figure.interval.high},
          {"covered", is_covered(figure)}};
}

Json case_json(const ValidatedCase& validated) {
  const ComparedCase& compared = validated.compared;
  Json figures = Json::array();
  for (const ComparedFigure& figure : compared.figures) figures.push_back(figure_json(figure));
  std::vector<std::string> notes = validated.assumed;
  notes.insert(notes.end(), validated.prediction.notes.begin(), validated.prediction.notes.end());
  return {{"name", compared.name},
          {"group", compared.group},
          {"engine", compared.engine},
          {"gpu", compared.gpu},
          {"model", compared.model},
          {"answered", compared.reason.empty()},
          {"reason", compared.reason.empty() ? Json(nullptr) : Json(compared.reason)},
          {"figures", std::move(figures)},
          {"not_predicted", validated.unpredicted},
          {"warnings", validated.warnings},
          {"notes", std::move(notes)}};
}

Json ledger_json(const std::vector<LedgerLine>& ledger) {
  Json lines = Json::array();
  for (const LedgerLine& line : ledger) {
    const ErrorSummary& errors = line.errors;
    lines.push_back({{"by", name_of(line.by)},
                     {"key", line.key},
                     {"name", line.name},
                     {"statistic", line.statistic},
                     {"figures", errors.figures},
                     {"bias", errors.bias},
                     {"mape", errors.mape},
                     {"median", errors.median},
                     {"p90", errors.p90},
                     {"coverage", errors.coverage}});
  }
  return lines;
}

Json limits_json(const std::vector<ErrorLimit>& limits) {
  Json list = Json::array();
  for (const ErrorLimit& limit : limits) {
    list.push_back({{"name", limit.name}, {"statistic", limit.statistic}, {"share", limit.share}});
  }
  return list;
}

Json inputs_json(const ValidationReport& report) {
  return {
      {"files", report.files}, {"name", report.name}, {"threshold", limits_json(report.limits)}};
}

Json machine_of(const ValidationReport& report) {
  Json json = envelope("validate", inputs_json(report));
  json["interval_share"] = kIntervalShare;
  json["cases"] = Json::array();
  for (const ValidatedCase& validated : report.cases) {
    json["cases"].push_back(case_json(validated));
  }
  json["answered"] = answered(report);
  json["unanswered"] = std::ssize(report.cases) - answered(report);
  json["ledger"] = ledger_json(report.ledger);
  json["exceeded"] = Json::array();
  for (const ExceededLimit& exceeded : report.exceeded) {
    json["exceeded"].push_back({{"name", exceeded.name},
                                {"statistic", exceeded.statistic},
                                {"mape", exceeded.mape},
                                {"limit", exceeded.limit}});
  }
  json["unjudged"] = limits_json(report.unjudged);
  return json;
}

// ---- for people

Table case_table(const ValidationReport& report) {
  Table table{.title = "",
              .columns = {{"Case", false},
                          {"Metric", false},
                          {"Measured"},
                          {"Predicted"},
                          {"Error"},
                          {"80 % interval"},
                          {"Holds", false}},
              .rows = {}};
  for (const ValidatedCase& validated : report.cases) {
    for (const ComparedFigure& figure : validated.compared.figures) {
      const std::optional<double> error = relative_error(figure);
      table.rows.push_back({validated.compared.name, metric_of(figure.name, figure.statistic),
                            measured_text(figure.name, figure.measured),
                            measured_text(figure.name, figure.predicted),
                            error ? signed_percent(*error) : "-", interval_of(figure),
                            is_covered(figure) ? "yes" : "no"});
    }
  }
  return table;
}

const char* title_of(LedgerBy by) {
  switch (by) {
    case LedgerBy::all:
      return "All cases";
    case LedgerBy::group:
      return "By group";
    case LedgerBy::engine:
      return "By engine";
    case LedgerBy::gpu:
      return "By GPU";
    case LedgerBy::model:
      break;
  }
  return "By model";
}

bool has_several_keys(const std::vector<LedgerLine>& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const LedgerLine& line) { return line.key != lines.front().key; });
}

Table ledger_table(const std::vector<LedgerLine>& lines) {
  Table table{.title = title_of(lines.front().by),
              .columns = {{"Metric", false},
                          {"Figures"},
                          {"Bias"},
                          {"MAPE"},
                          {"Median"},
                          {"p90"},
                          {"In 80 % interval"}},
              .rows = {}};
  const bool keyed = lines.front().by != LedgerBy::all;
  if (keyed) table.columns.insert(table.columns.begin(), Column{"", false});
  for (const LedgerLine& line : lines) {
    const ErrorSummary& errors = line.errors;
    std::vector<std::string> row = {metric_of(line.name, line.statistic),
                                    with_separators(errors.figures),
                                    signed_percent(errors.bias),
                                    as_percent(errors.mape),
                                    as_percent(errors.median),
                                    as_percent(errors.p90),
                                    as_percent(errors.coverage, 0)};
    if (keyed) row.insert(row.begin(), line.key);
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// One table for all cases, and one for what tells them apart.
void add_ledger(Document& document, const ValidationReport& report) {
  for (auto begin = report.ledger.begin(); begin != report.ledger.end();) {
    const auto end = std::find_if(begin, report.ledger.end(),
                                  [&](const LedgerLine& line) { return line.by != begin->by; });
    const std::vector<LedgerLine> lines(begin, end);
    if (begin->by == LedgerBy::all || has_several_keys(lines)) {
      document.sections.push_back({.heading = "", .lines = {}, .table = ledger_table(lines)});
    }
    begin = end;
  }
}

void add_unanswered(Document& document, const ValidationReport& report) {
  Table table{.title = "Not answered", .columns = {{"Case", false}, {"Why", false}}, .rows = {}};
  Table figures{.title = "Measured and not predicted",
                .columns = {{"Case", false}, {"Metric", false}},
                .rows = {}};
  for (const ValidatedCase& validated : report.cases) {
    const ComparedCase& compared = validated.compared;
    if (!compared.reason.empty()) table.rows.push_back({compared.name, compared.reason});
    for (const std::string& metric : validated.unpredicted) {
      figures.rows.push_back({compared.name, metric});
    }
  }
  for (Table* found : {&figures, &table}) {
    if (found->rows.empty()) continue;
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(*found)});
  }
}

/// "a.json", "a.json and 3 more".
std::string first_of(const std::vector<std::string>& names) {
  const std::string more =
      names.size() > 1 ? fmt::format(" and {} more", with_separators(std::ssize(names) - 1)) : "";
  return names.front() + more;
}

/// What measured files do not say, and where they contradict themselves: a line of each kind, with
/// the first case that it is about.
void add_remarks(Document& document, const ValidationReport& report) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> cases;  // by what is said of them
  for (const ValidatedCase& validated : report.cases) {
    for (const auto* lines : {&validated.assumed, &validated.warnings}) {
      for (const std::string& line : *lines) {
        if (cases[line].empty()) order.push_back(line);
        cases[line].push_back(validated.compared.name);
      }
    }
  }
  if (order.empty()) return;
  Table table{
      .title = "Of the measured files", .columns = {{"Case", false}, {"What", false}}, .rows = {}};
  for (const std::string& line : order) table.rows.push_back({first_of(cases[line]), line});
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
}

std::string heading_of(const ValidationReport& report) {
  return report.name.empty() ? "Predicted against measured"
                             : "Predicted against measured: " + report.name;
}

/// The last lines: limits, and how much of what was asked is behind the figures.
std::vector<std::string> verdict(const ValidationReport& report) {
  std::vector<std::string> lines;
  for (const ExceededLimit& exceeded : report.exceeded) {
    lines.push_back(fmt::format("Past the threshold: {}, MAPE {} over {}.",
                                metric_of(exceeded.name, exceeded.statistic),
                                as_percent(exceeded.mape), as_percent(exceeded.limit)));
  }
  for (const ErrorLimit& limit : report.unjudged) {
    lines.push_back(fmt::format(
        "Not judged: no case has a figure{}{} to compare.", limit.name.empty() ? "" : " of ",
        limit.statistic.empty() ? limit.name : metric_of(limit.name, limit.statistic)));
  }
  if (!report.limits.empty() && report.exceeded.empty() && is_judged_whole(report)) {
    lines.emplace_back("Every metric is within its threshold.");
  }
  std::int64_t figures = 0;
  std::int64_t held = 0;
  for (const ValidatedCase& validated : report.cases) {
    figures += std::ssize(validated.compared.figures);
    held += std::count_if(validated.compared.figures.begin(), validated.compared.figures.end(),
                          is_covered);
  }
  const std::int64_t unanswered = std::ssize(report.cases) - answered(report);
  lines.push_back(
      fmt::format("{} of {} answered{}; {} of {} within the 80 % interval.",
                  with_separators(answered(report)), counted(std::ssize(report.cases), "case"),
                  unanswered > 0 ? fmt::format(", {} not", with_separators(unanswered)) : "",
                  with_separators(held), counted(figures, "figure")));
  return lines;
}

}  // namespace

Document validation_document(const ValidationReport& report) {
  Document document{.machine = machine_of(report), .sections = {}};
  document.sections.push_back({.heading = heading_of(report), .lines = {}, .table = {}});
  if (report.sum_up) {
    add_ledger(document, report);
  } else if (answered(report) > 0) {
    document.sections.back().table = case_table(report);
  }
  add_remarks(document, report);
  add_unanswered(document, report);
  document.sections.push_back({.heading = "", .lines = verdict(report), .table = {}});
  return document;
}

}  // namespace roofcast

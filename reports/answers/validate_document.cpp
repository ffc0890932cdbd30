#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/numbers.hpp"
#include "base/units.hpp"
#include "base/wording.hpp"
#include "roofcast/validate.hpp"
#include "validate/validation_rows.hpp"

namespace roofcast {
namespace {

/// "ttft_s p99"; just the name for a single figure.
std::string metric_of(const std::string& name, const std::string& statistic) {
  return statistic == "value" ? name : name + " " + statistic;
}

Cell interval_of(const ComparedFigure& figure) {
  return range(measured_cell(figure.name, figure.interval.low),
               measured_cell(figure.name, figure.interval.high));
}

Table case_table(const ValidationAnswer& answer) {
  Table table{.title = "",
              .columns = {{"Case", false},
                          {"Metric", false},
                          {"Measured"},
                          {"Predicted"},
                          {"Error"},
                          {interval_percent() + " interval"},
                          {"In interval", false}},
              .rows = {}};
  for (const CaseAnswer& one : answer.cases) {
    for (const ComparedFigure& figure : one.compared.figures) {
      const std::optional<double> error = relative_error(figure);
      table.rows.push_back({one.compared.name, metric_of(figure.name, figure.statistic),
                            measured_cell(figure.name, figure.measured),
                            measured_cell(figure.name, figure.predicted),
                            error ? signed_percent(*error) : "-", interval_of(figure),
                            is_covered(figure) ? "yes" : "no"});
    }
  }
  return table;
}

/// `keys`: those of LedgerBy::keys.
std::string title_of(LedgerBy by, const std::vector<std::string>& keys) {
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
      return "By model";
    case LedgerBy::keys:
      break;
  }
  return fmt::format("By {}", fmt::join(keys, ", "));
}

bool has_several_keys(const std::vector<LedgerLine>& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const LedgerLine& line) { return line.key != lines.front().key; });
}

Table ledger_table(const std::vector<LedgerLine>& lines, const std::string& title) {
  Table table{.title = title,
              .columns = {{"Metric", false},
                          {"Figures"},
                          {"Bias"},
                          {"MAPE"},
                          {"Median"},
                          {"p90"},
                          {"In " + interval_percent() + " interval"}},
              .rows = {}};
  const bool keyed = lines.front().by != LedgerBy::all;
  if (keyed) table.columns.insert(table.columns.begin(), Column{"", false});
  for (const LedgerLine& line : lines) {
    const ErrorSummary& errors = line.errors;
    std::vector<Cell> row = {metric_of(line.name, line.statistic), printed::count(errors.figures),
                             signed_percent(errors.bias),          printed::percent(errors.mape),
                             printed::percent(errors.median),      printed::percent(errors.p90),
                             printed::percent(errors.coverage, 0)};
    if (keyed) row.insert(row.begin(), line.key);
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// One table for all cases, and one for what distinguishes them.
void add_ledger(Document& document, const ValidationAnswer& answer) {
  for (auto begin = answer.ledger.begin(); begin != answer.ledger.end();) {
    const auto end = std::find_if(begin, answer.ledger.end(),
                                  [&](const LedgerLine& line) { return line.by != begin->by; });
    const std::vector<LedgerLine> lines(begin, end);
    const bool asked = begin->by == LedgerBy::all || begin->by == LedgerBy::keys;
    if (asked || has_several_keys(lines)) {
      const std::string title = title_of(begin->by, answer.inputs.by);
      document.sections.push_back(
          {.heading = "", .lines = {}, .table = ledger_table(lines, title)});
    }
    begin = end;
  }
}

const char* words_of(ChoiceOf choice) {
  switch (choice) {
    case ChoiceOf::layout:
      return "layout, by tokens per GPU";
    case ChoiceOf::gpu:
      return "GPU and layout, by tokens per GPU";
    case ChoiceOf::gpu_per_dollar:
      break;
  }
  return "GPU and layout, by tokens per dollar";
}

/// Adds how good choices by predictions are: a summary, then every question that gave something
/// away.
void add_decisions(Document& document, const ValidationAnswer& answer) {
  Table table{.title = "Choices by predictions",
              .columns = {{"Choice of", false},
                          {"On", false},
                          {"Questions"},
                          {"Regret"},
                          {"Largest"},
                          {"Limit unmet"},
                          {"Promises broken"},
                          {"Pairs > 5 %"},
                          {"Ordered right"},
                          {"Kendall"}},
              .rows = {}};
  for (const DecisionSummary& line : answer.choices) {
    table.rows.push_back(
        {words_of(line.choice) + std::string(line.saturated ? ", saturated" : ""),
         line.gpu.empty() ? "all" : line.gpu, printed::count(line.questions),
         printed::percent(line.regret), printed::percent(line.largest_regret),
         printed::count(line.unmet),
         followed(verbatim(std::to_string(line.broken)), fmt::format(" of {}", line.promised)),
         printed::count(line.pairs), line.ordered ? printed::percent(*line.ordered) : "-",
         line.kendall ? printed::fixed(*line.kendall, 2) : "-"});
  }
  Table regrets{.title = "Questions that gave something away",
                .columns = {{"Question", false},
                            {"TPOT limit"},
                            {"Chosen", false},
                            {"Best", false},
                            {"Regret"},
                            {"Promise", false}},
                .rows = {}};
  for (const Decision& one : answer.decisions) {
    if (one.regret <= 0 && !one.broken) continue;
    const std::string per = one.choice == ChoiceOf::gpu_per_dollar ? ", per dollar" : "";
    regrets.rows.push_back({one.question + (one.gpu.empty() ? per : " on " + one.gpu),
                            one.tpot_limit ? printed::time(Seconds{*one.tpot_limit}) : "-",
                            one.chosen, one.best, printed::percent(one.regret),
                            one.broken ? "broken" : (one.promised ? "kept" : "none")});
  }
  if (table.rows.empty()) {
    document.sections.push_back(
        {.heading = "",
         .lines = {"No choices: no model and load was measured on two deployments."},
         .table = {}});
    return;
  }
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  if (regrets.rows.empty()) return;
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(regrets)});
}

void add_versions(Document& document, const ValidationAnswer& answer) {
  Table table{.title = "Versions: TPOT on the slowest over that on the fastest date",
              .columns = {{"Vendor", false},
                          {"GPU", false},
                          {"Engine", false},
                          {"Half-year", false},
                          {"Settings"},
                          {"Median"},
                          {"Largest"},
                          {"Predicted"},
                          {"Of", false}},
              .rows = {}};
  for (const VersionDrift& line : answer.versions) {
    table.rows.push_back({line.vendor, line.gpu.empty() ? "all" : line.gpu, line.engine,
                          line.half_year, printed::count(line.settings),
                          printed::fixed(line.median, 2), printed::fixed(line.largest, 2),
                          printed::fixed(line.predicted, 2), line.setting});
  }
  if (table.rows.empty()) {
    document.sections.push_back(
        {.heading = "",
         .lines = {"No setting was measured on two dates (label `date`) within half a year."},
         .table = {}});
    return;
  }
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
}

void add_unanswered(Document& document, const ValidationAnswer& answer) {
  Table table{.title = "Not predicted", .columns = {{"Case", false}, {"Why", false}}, .rows = {}};
  Table figures{.title = "Measured but not predicted",
                .columns = {{"Case", false}, {"Metric", false}},
                .rows = {}};
  for (const CaseAnswer& one : answer.cases) {
    const ComparedCase& compared = one.compared;
    if (!compared.reason.empty()) table.rows.push_back({compared.name, compared.reason});
    for (const std::string& metric : one.unpredicted) {
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

/// Adds what measured files leave out, and where they contradict themselves: one line per kind,
/// with the first case it applies to.
void add_remarks(Document& document, const ValidationAnswer& answer) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> cases;  // keyed by remark
  for (const CaseAnswer& one : answer.cases) {
    for (const auto* lines : {&one.assumed, &one.warnings}) {
      for (const std::string& line : *lines) {
        if (cases[line].empty()) order.push_back(line);
        cases[line].push_back(one.compared.name);
      }
    }
  }
  if (order.empty()) return;
  Table table{.title = "Remarks on measured files",
              .columns = {{"Case", false}, {"What", false}},
              .rows = {}};
  for (const std::string& line : order) table.rows.push_back({first_of(cases[line]), line});
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
}

std::string heading_of(const ValidationAnswer& answer) {
  return answer.inputs.name.empty() ? "Predicted against measured"
                                    : "Predicted against measured: " + answer.inputs.name;
}

/// The last lines: limits, and how much of the question the figures cover.
std::vector<std::string> verdict(const ValidationAnswer& answer) {
  std::vector<std::string> lines;
  for (const ExceededLimit& exceeded : answer.exceeded) {
    lines.push_back(fmt::format("Above the threshold: {}, MAPE {} over {}.",
                                metric_of(exceeded.name, exceeded.statistic),
                                as_percent(exceeded.mape), as_percent(exceeded.limit)));
  }
  for (const ErrorLimit& limit : answer.unjudged) {
    lines.push_back(fmt::format(
        "Not judged: no case has a figure{}{} to compare.", limit.name.empty() ? "" : " of ",
        limit.statistic.empty() ? limit.name : metric_of(limit.name, limit.statistic)));
  }
  if (!answer.inputs.limits.empty() && answer.exceeded.empty() && is_judged_whole(answer)) {
    lines.emplace_back("Every metric is within its threshold.");
  }
  std::int64_t figures = 0;
  std::int64_t held = 0;
  for (const CaseAnswer& one : answer.cases) {
    figures += std::ssize(one.compared.figures);
    held += std::count_if(one.compared.figures.begin(), one.compared.figures.end(), is_covered);
  }
  const std::int64_t unanswered = answer.unanswered;
  lines.push_back(fmt::format(
      "{} of {} predicted{}{}.", with_separators(answer.answered),
      counted(std::ssize(answer.cases), "case"),
      unanswered > 0 ? fmt::format(", {} not", with_separators(unanswered)) : "",
      figures > 0 ? fmt::format("; {} of {} within the {} interval", with_separators(held),
                                counted(figures, "figure"), interval_percent())
                  : ""));
  return lines;
}

}  // namespace

Document validation_document(const ValidationAnswer& answer, const ValidationParts& parts) {
  Document document{.machine = to_json(answer), .sections = {}};
  document.sections.push_back({.heading = heading_of(answer), .lines = {}, .table = {}});
  if (parts.ledger) add_ledger(document, answer);
  if (parts.decisions) add_decisions(document, answer);
  if (parts.versions) add_versions(document, answer);
  const bool lists_cases = !parts.ledger && !parts.decisions && !parts.versions;
  if (lists_cases && answer.answered > 0) {
    document.sections.back().table = case_table(answer);
  }
  add_remarks(document, answer);
  add_unanswered(document, answer);
  document.sections.push_back({.heading = "", .lines = verdict(answer), .table = {}});
  return document;
}

}  // namespace roofcast

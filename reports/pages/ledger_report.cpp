#include "reports/pages/ledger_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/joined.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/pages/figures/validation_figures.hpp"
#include "reports/pages/stored_report.hpp"
#include "reports/store_query.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/what_if.hpp"
#include "validate/ledger.hpp"
#include "validate/validation_rows.hpp"

namespace roofcast {
namespace {

// Far more than any ledger so far; beyond it only the newest are reported.
constexpr QueryLimits kLimits{.rows = 200'000};
constexpr std::size_t kMaxScatters = 6;

std::string text(const QueryValue& value) {
  const std::string* found = std::get_if<std::string>(&value);
  return found == nullptr ? "" : *found;
}

double number(const QueryValue& value) {
  if (const double* found = std::get_if<double>(&value)) return *found;
  if (const std::int64_t* whole = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*whole);
  }
  return 0;
}

/// Cases of the store's validations, and notes on those left out.
struct StoredCases {
  std::vector<ComparedCase> cases{};
  std::vector<std::string> notes{};
};

/// Key of a case across repeated validations of one manifest. It includes the measured values,
/// because one name may stand for several settings.
std::string identity(const ComparedCase& one) {
  std::string all;
  for (const std::string* part : {&one.group, &one.name, &one.engine, &one.gpu, &one.model}) {
    all += *part + '\0';
  }
  for (const ComparedFigure& figure : one.figures) {
    all += fmt::format("{} {} {}", figure.name, figure.statistic, figure.measured) + '\0';
  }
  return all;
}

/// Keeps the latest validation of each case, oldest run first. `cases` starts with the newest.
void keep_latest(StoredCases& stored) {
  std::set<std::string> seen;
  const std::size_t all = stored.cases.size();
  std::erase_if(stored.cases,
                [&](const ComparedCase& one) { return !seen.insert(identity(one)).second; });
  std::reverse(stored.cases.begin(), stored.cases.end());
  const auto older = static_cast<std::int64_t>(all - stored.cases.size());
  if (older == 0) return;
  stored.notes.push_back(fmt::format("{} of cases that were validated again are left out.",
                                     counted(older, "older validation")));
}

/// `only`: restricts to one run.
StoredCases stored_cases(const std::string& path, std::optional<std::int64_t> only) {
  const std::string where = only ? fmt::format("WHERE run_id = {} ", *only) : "";
  const QueryAnswer answer =
      query_store(path,
                  "SELECT run_id, case_name, case_group, engine, gpu, model, name, statistic, "
                  "measured, predicted, low, high FROM validation_errors " +
                      where + "ORDER BY run_id DESC, name, statistic",
                  kLimits);
  StoredCases stored;
  if (answer.more) {
    stored.notes.push_back(
        fmt::format("The store holds more: only the newest {} figures are shown.",
                    with_separators(std::ssize(answer.rows))));
  }
  std::vector<ComparedCase>& cases = stored.cases;
  double last = -1;
  for (const std::vector<QueryValue>& row : answer.rows) {
    if (number(row[0]) != last) {
      last = number(row[0]);
      cases.push_back({.name = text(row[1]),
                       .group = text(row[2]),
                       .engine = text(row[3]),
                       .gpu = text(row[4]),
                       .model = text(row[5])});
    }
    cases.back().figures.push_back({.name = text(row[6]),
                                    .statistic = text(row[7]),
                                    .measured = number(row[8]),
                                    .predicted = number(row[9]),
                                    .interval = {number(row[10]), number(row[11])}});
  }
  keep_latest(stored);
  return stored;
}

Table ledger_table(const std::vector<LedgerLine>& ledger, LedgerBy by, const std::string& title) {
  Table table{.title = title,
              .columns = {{"Metric", false},
                          {"Figures"},
                          {"Bias"},
                          {"Mean abs. error"},
                          {"Median"},
                          {"p90"},
                          {"In interval"}},
              .rows = {}};
  if (by != LedgerBy::all) table.columns.insert(table.columns.begin(), {name_of(by), false});
  for (const LedgerLine& line : ledger) {
    if (line.by != by) continue;
    const ErrorSummary& errors = line.errors;
    std::vector<Cell> row{title_of(MetricName{line.name, line.statistic}),
                          printed::count(errors.figures),
                          signed_percent(errors.bias),
                          printed::percent(errors.mape),
                          printed::percent(errors.median),
                          printed::percent(errors.p90),
                          printed::percent(errors.coverage, 0)};
    if (by != LedgerBy::all) row.insert(row.begin(), line.key);
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// The lines with the largest errors first.
std::vector<LedgerLine> worst_first(std::vector<LedgerLine> ledger) {
  std::ranges::stable_sort(ledger, [](const LedgerLine& a, const LedgerLine& b) {
    return a.errors.mape > b.errors.mape;
  });
  return ledger;
}

/// Figures with the most points first; those not drawn are listed in a line.
std::vector<Figure> scatters(const std::vector<ComparedCase>& cases,
                             std::vector<std::string>& lines) {
  std::vector<Figure> figures = predicted_over_measured(cases);
  const auto points = [](const Figure& figure) {
    std::size_t count = 0;
    for (const FigureSeries& series : figure.series) count += series.points.size();
    return count;
  };
  std::stable_sort(figures.begin(), figures.end(), [&](const Figure& one, const Figure& other) {
    return points(one) > points(other);
  });
  // One point a figure says nothing that a bar beside the others does not say better.
  if (cases.size() == 1) {
    if (auto errors = errors_of_case(cases.front())) return {*std::move(errors)};
  }
  if (figures.size() <= kMaxScatters) return figures;
  lines.push_back(fmt::format("Not drawn, only in the tables: {}.",
                              joined(std::span(figures).subspan(kMaxScatters), &Figure::title)));
  figures.resize(kMaxScatters);
  return figures;
}

/// The largest errors first.
Table case_table(const ComparedCase& compared) {
  Table table{.title = compared.name,
              .columns = {{"Metric", false},
                          {"Measured"},
                          {"Predicted"},
                          {"Error"},
                          {"Low"},
                          {"High"},
                          {"In interval", false}},
              .rows = {}};
  const auto size = [](const ComparedFigure& figure) {
    return std::abs(relative_error(figure).value_or(0));
  };
  std::vector<ComparedFigure> figures = compared.figures;
  std::ranges::stable_sort(
      figures, [&](const ComparedFigure& a, const ComparedFigure& b) { return size(a) > size(b); });
  for (const ComparedFigure& figure : figures) {
    const auto error = relative_error(figure);
    table.rows.push_back(
        {title_of(figure), measured_cell(figure.name, figure.measured),
         measured_cell(figure.name, figure.predicted), error ? signed_percent(*error) : "-",
         measured_cell(figure.name, figure.interval.low),
         measured_cell(figure.name, figure.interval.high), is_covered(figure) ? "yes" : "no"});
  }
  return table;
}

/// Over all metrics together; nullopt without a figure to compare.
std::optional<ErrorSummary> errors_of(std::vector<ComparedCase> cases) {
  for (ComparedCase& compared : cases) {
    for (ComparedFigure& figure : compared.figures) figure.name = figure.statistic = "";
  }
  const std::vector<LedgerLine> ledger = ledger_of(cases);
  if (ledger.empty()) return std::nullopt;
  return ledger.front().errors;  // the line of LedgerBy::all comes first
}

/// What is within its interval, by how much predictions are off, and by how much the worst is.
std::vector<ReportTile> tiles_of(const std::vector<ComparedCase>& cases) {
  const std::optional<ErrorSummary> errors = errors_of(cases);
  if (!errors) return {};
  const ComparedFigure* worst = nullptr;
  const ComparedCase* of = nullptr;
  double most = -1;
  for (const ComparedCase& compared : cases) {
    for (const ComparedFigure& figure : compared.figures) {
      const std::optional<double> error = relative_error(figure);
      if (!error || std::abs(*error) <= most) continue;
      most = std::abs(*error);
      worst = &figure;
      of = &compared;
    }
  }
  std::vector<ReportTile> tiles{{.name = "Within the " + interval_percent() + " interval",
                                 .value = as_percent(errors->coverage, 0),
                                 .note = "of " + counted(errors->figures, "figure")},
                                {.name = "Mean absolute error",
                                 .value = as_percent(errors->mape),
                                 .note = fmt::format("bias {:+.1f} %", 100 * errors->bias)}};
  if (worst != nullptr) {
    tiles.push_back({.name = "Largest error",
                     .value = fmt::format("{:+.1f} %", 100 * *relative_error(*worst)),
                     .note = title_of(*worst) + (cases.size() > 1 ? " of " + of->name : "")});
  }
  return tiles;
}

/// Summary over all metrics together.
std::string sum_of(const std::vector<ComparedCase>& cases) {
  const std::optional<ErrorSummary> errors = errors_of(cases);
  if (!errors) return counted(std::ssize(cases), "case") + " without a figure to compare.";
  const ErrorSummary& all = *errors;
  return fmt::format(
      "{} of {}: predictions are off by {} on average (bias {:+.1f} %); {} of the figures are "
      "within their {} interval.",
      counted(all.figures, "figure"), counted(std::ssize(cases), "case"), as_percent(all.mape),
      100 * all.bias, as_percent(all.coverage, 0), interval_percent());
}

/// A case that has no name of its own goes by its file, as the command line has it: without the
/// folders. Names of a manifest may have a "/" that is none of a path.
std::string short_name_of(const ComparedCase& one, const std::string& command_line) {
  if (command_line.find(one.name) == std::string::npos) return one.name;
  return std::filesystem::path(one.name).filename().string();
}

}  // namespace

Report ledger_report(const std::string& store_path) {
  const StoredCases stored = stored_cases(store_path, std::nullopt);
  const std::vector<ComparedCase>& cases = stored.cases;
  if (cases.empty()) {
    throw Error(store_path + ": holds no validations (roofcast validate makes them)");
  }
  const std::vector<LedgerLine> ledger = worst_first(ledger_of(cases));
  Report report{.title = "Accuracy: predicted against measured",
                .answer = sum_of(cases),
                .tiles = tiles_of(cases),
                .footer = "Errors are predicted / measured - 1.",
                .machine = envelope("report", {{"what", "ledger"}})};
  ReportSection drawn{.heading = "Predicted against measured", .lines = stored.notes};
  drawn.figures = scatters(cases, drawn.lines);
  report.sections.push_back(std::move(drawn));
  report.sections.push_back({.heading = "Errors",
                             .figures = error_histogram(cases),
                             .tables = {ledger_table(ledger, LedgerBy::all, "All cases")}});
  report.sections.push_back({.heading = "Intervals", .figures = interval_coverage(ledger)});
  ReportSection by{.heading = "By engine, GPU and model"};
  for (const LedgerBy key : {LedgerBy::engine, LedgerBy::gpu, LedgerBy::model, LedgerBy::group}) {
    Table table = ledger_table(ledger, key, fmt::format("By {}", name_of(key)));
    if (!table.rows.empty()) by.tables.push_back(std::move(table));
  }
  report.sections.push_back(std::move(by));
  return report;
}

Report validation_report(const std::string& store_path, const Run& run) {
  const std::vector<ComparedCase> cases = stored_cases(store_path, run.row.id).cases;
  Report report = stored_report(run);
  if (cases.empty()) return report;
  report.answer = short_name_of(cases.front(), run.row.command_line) + ": " + sum_of(cases);
  report.tiles = tiles_of(cases);
  ReportSection section{.heading = "Predicted against measured",
                        .tables = {case_table(cases.front())}};
  section.figures = scatters(cases, section.lines);
  report.sections.insert(report.sections.begin(), std::move(section));
  return report;
}

}  // namespace roofcast

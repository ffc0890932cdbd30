#include "cli/report/ledger_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/envelope.hpp"
#include "cli/report/simulation_report.hpp"
#include "cli/report/validation_figures.hpp"
#include "model/error.hpp"
#include "reports/figures/figure_table.hpp"
#include "reports/numbers.hpp"
#include "reports/store_query.hpp"
#include "reports/validation.hpp"
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

// Beyond any ledger that people measured.
constexpr QueryLimits kLimits{.rows = 200'000};
constexpr std::size_t kMostScatters = 8;

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

/// Cases of the store's validations, in their order; `only`: one run's.
std::vector<ComparedCase> stored_cases(const std::string& path, std::optional<std::int64_t> only) {
  const std::string where = only ? fmt::format("WHERE run_id = {} ", *only) : "";
  const QueryAnswer answer =
      query_store(path,
                  "SELECT run_id, case_name, case_group, engine, gpu, model, name, statistic, "
                  "measured, predicted, low, high FROM validation_errors " +
                      where + "ORDER BY run_id, name, statistic",
                  kLimits);
  if (answer.more) throw Error(path + ": more validations than a report can hold");
  std::vector<ComparedCase> cases;
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
  return cases;
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
    std::vector<std::string> row{
        line.statistic == "value" ? line.name : line.name + " " + line.statistic,
        with_separators(errors.figures),
        fmt::format("{:+.1f} %", 100 * errors.bias),
        as_percent(errors.mape),
        as_percent(errors.median),
        as_percent(errors.p90),
        as_percent(errors.coverage, 0)};
    if (by != LedgerBy::all) row.insert(row.begin(), line.key);
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Most points first, so that what is told of most cases is what is drawn.
std::vector<Figure> scatters(const std::vector<ComparedCase>& cases) {
  std::vector<Figure> figures = predicted_over_measured(cases);
  const auto points = [](const Figure& figure) {
    std::size_t count = 0;
    for (const FigureSeries& series : figure.series) count += series.points.size();
    return count;
  };
  std::stable_sort(figures.begin(), figures.end(), [&](const Figure& one, const Figure& other) {
    return points(one) > points(other);
  });
  if (figures.size() > kMostScatters) figures.resize(kMostScatters);
  return figures;
}

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
  for (const ComparedFigure& figure : compared.figures) {
    const auto error = relative_error(figure);
    table.rows.push_back(
        {title_of(figure), figure_number(figure.measured), figure_number(figure.predicted),
         error ? fmt::format("{:+.1f} %", 100 * *error) : "-", figure_number(figure.interval.low),
         figure_number(figure.interval.high), is_covered(figure) ? "yes" : "no"});
  }
  return table;
}

/// Over all figures: how many, their mean absolute error, bias and coverage.
std::string sum_of(const std::vector<ComparedCase>& cases) {
  double absolute = 0, bias = 0;
  std::int64_t figures = 0, covered = 0;
  for (const ComparedCase& compared : cases) {
    for (const ComparedFigure& figure : compared.figures) {
      const auto error = relative_error(figure);
      if (!error) continue;
      ++figures;
      absolute += std::abs(*error);
      bias += *error;
      covered += is_covered(figure) ? 1 : 0;
    }
  }
  if (figures == 0) return counted(std::ssize(cases), "case") + " without a figure to compare.";
  const auto count = static_cast<double>(figures);
  return fmt::format(
      "{} of {}: predictions are off by {} on average (bias {:+.1f} %); {} of the figures lie in "
      "their 80 % interval.",
      counted(figures, "figure"), counted(std::ssize(cases), "case"), as_percent(absolute / count),
      100 * bias / count, as_percent(static_cast<double>(covered) / count, 0));
}

}  // namespace

Report ledger_report(const std::string& store_path) {
  const std::vector<ComparedCase> cases = stored_cases(store_path, std::nullopt);
  if (cases.empty()) {
    throw Error(store_path + ": holds no validations (roofcast validate makes them)");
  }
  const std::vector<LedgerLine> ledger = ledger_of(cases);
  Report report{.title = "How far off: predicted against measured",
                .answer = sum_of(cases),
                .footer = "Errors are predicted / measured - 1.",
                .machine = envelope("report", {{"what", "ledger"}})};
  report.sections.push_back({.heading = "Predicted against measured", .figures = scatters(cases)});
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
  const std::vector<ComparedCase> cases = stored_cases(store_path, run.row.id);
  Report report = stored_report(run);
  if (cases.empty()) return report;
  report.answer = cases.front().name + ": " + sum_of(cases);
  ReportSection section{.heading = "Predicted against measured",
                        .figures = predicted_over_measured(cases),
                        .tables = {case_table(cases.front())}};
  // A point a figure: those of the tails say little that the table does not.
  if (section.figures.size() > kMostScatters) section.figures.resize(kMostScatters);
  report.sections.insert(report.sections.begin(), std::move(section));
  return report;
}

}  // namespace roofcast

#include "serve/report_page.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "reports/pages/html_page.hpp"
#include "reports/pages/reports.hpp"
#include "reports/store.hpp"
#include "serve/without_paths.hpp"

namespace roofcast {
namespace {

void clean(std::string& text, const KnownPaths& known) { text = without_paths(text, known); }

void clean(std::vector<std::string>& texts, const KnownPaths& known) {
  for (std::string& text : texts) clean(text, known);
}

void clean(Table& table, const KnownPaths& known) {
  clean(table.title, known);
  for (std::vector<std::string>& row : table.rows) clean(row, known);
}

/// Figures are of numbers, and of names that the run was given.
void clean(Figure& figure, const KnownPaths& known) {
  clean(figure.title, known);
  clean(figure.caption, known);
  clean(figure.x.names, known);
  clean(figure.table, known);
  for (FigureSeries& series : figure.series) clean(series.name, known);
}

void clean(Report& report, const KnownPaths& known) {
  clean(report.title, known);
  clean(report.answer, known);
  clean(report.footer, known);
  for (auto& [name, value] : report.facts) clean(value, known);
  for (ReportSection& section : report.sections) {
    clean(section.heading, known);
    clean(section.lines, known);
    clean(section.commands, known);
    for (Figure& figure : section.figures) clean(figure, known);
    for (Table& table : section.tables) clean(table, known);
  }
}

}  // namespace

std::optional<std::string> report_page(const std::string& store_path, std::int64_t id,
                                       const KnownPaths& known, const ApiLimits& limits,
                                       const std::function<bool()>& stopped) {
  const Store store(store_path, Store::Mode::read);
  const auto run = store.run(id);
  if (!run) return std::nullopt;
  const auto goes_on = [&](std::int64_t, std::int64_t) { return !stopped(); };
  Report report = run_report(store_path, store, *run,
                             {.threads = 1,
                              .progress = goes_on,
                              .opens_files = false,
                              .max_requests = limits.max_requests,
                              .max_replicas = limits.max_replicas});
  if (stopped()) throw Error("stopped before its end");
  clean(report, known);
  return html_page(report);
}

}  // namespace roofcast

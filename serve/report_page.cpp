#include "serve/report_page.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "reports/pages/html_page.hpp"
#include "reports/pages/reports.hpp"
#include "reports/store.hpp"
#include "serve/without_paths.hpp"

namespace roofcast {
namespace {

void clean(std::string& text) { text = without_paths(text); }

void clean(std::vector<std::string>& texts) {
  for (std::string& text : texts) clean(text);
}

void clean(Table& table) {
  clean(table.title);
  for (auto& row : table.rows) {
    for (Cell& cell : row) clean(cell.text);
  }
}

void clean(Figure& figure) {
  clean(figure.title);
  clean(figure.caption);
  clean(figure.x.names);
  clean(figure.table);
  for (FigureSeries& series : figure.series) clean(series.name);
}

void clean(Report& report) {
  clean(report.title);
  clean(report.answer);
  clean(report.footer);
  for (auto& [name, value] : report.facts) clean(value);
  for (ReportSection& section : report.sections) {
    clean(section.heading);
    clean(section.lines);
    clean(section.commands);
    for (Figure& figure : section.figures) clean(figure);
    for (Table& table : section.tables) clean(table);
  }
}

}  // namespace

std::optional<std::string> report_page(const std::string& store_path, std::int64_t id,
                                       const ApiLimits& limits,
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
  if (stopped()) throw Error("cancelled");
  clean(report);
  std::string page = html_page(report);
  constexpr std::string_view kMain = "<main>\n";
  const std::size_t at = page.find(kMain);
  if (at != std::string::npos) {
    page.insert(at + kMain.size(), "<p class=\"back\"><a href=\"/#runs\">All runs</a></p>\n");
  }
  return page;
}

}  // namespace roofcast

#include "reports/pages/capacity_table_report.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/answers/capacity_table_sections.hpp"

namespace roofcast {
namespace {

/// The price of a token against the speed that a user sees, up to the capacity: down and to the
/// right is better.
Figure cost_figure(const CapacityTableAnswer& answer) {
  Figure figure{
      .key = "cost_against_speed",
      .title = "Price of tokens against speed",
      .caption =
          "Each line is a deployment under growing load, from little, where its name "
          "stands, up to its capacity. More load makes tokens cheaper and each user's slower: "
          "right and down is better.",
      .x = {.title = "output tokens/s that a user sees (1 / mean TPOT)", .low = 0},
      .y = {.title = "$ per million tokens, in and out", .scale = AxisScale::logarithmic}};
  for (const CapacityTableRow& row : answer.rows) {
    FigureSeries series{.name = row.title};
    for (const CapacityTablePoint& point : row.points) {
      if (!point.dollars_per_million_tokens) continue;
      const bool first = series.points.empty();
      series.points.push_back(
          {.x = point.user_tokens_per_s,
           .y = *point.dollars_per_million_tokens,
           .label = fmt::format("{} at {}: {} tokens/s each, ${} per million", row.title,
                                as_load(row.load, point.load), fixed(point.user_tokens_per_s, 1),
                                fixed(*point.dollars_per_million_tokens, 3)),
           .name = first ? row.title : ""});
    }
    if (!series.points.empty()) figure.series.push_back(std::move(series));
  }
  return figure;
}

std::vector<ReportTile> tiles_of(const CapacityTableRow& best) {
  if (!best.capacity) return {};
  std::vector<ReportTile> tiles;
  if (const auto& each = best.cost.dollars_per_million_tokens) {
    tiles.push_back({.name = "Cheapest tokens",
                     .value = fmt::format("${} per million", amount(*each, 2)),
                     .note = "prompt and output tokens together"});
  }
  tiles.push_back({.name = "Capacity",
                   .value = (best.bounded ? "" : "at least ") + as_load(best.load, *best.capacity),
                   .note = best.title});
  tiles.push_back(
      {.name = "Step times",
       .value = step_source_words(best.step_sources, best.step_uncertainty),
       .note = rests_on_datasheet(best.step_sources) ? "its kernels were not timed" : ""});
  return tiles;
}

}  // namespace

std::vector<Figure> capacity_table_figures(const CapacityTableAnswer& answer) {
  Figure figure = cost_figure(answer);
  if (figure.series.empty()) return {};  // no load holds, or nothing has a price
  return {std::move(figure)};
}

Report capacity_table_report(const CapacityTableAnswer& answer) {
  const Document document = capacity_table_document(answer);
  const Section& table = document.sections.front();
  const std::vector<std::string> sentences = capacity_table_sentences(answer);
  Report report{.title = table.heading,
                .answer = sentences.front(),
                .tiles = tiles_of(answer.rows.front()),
                .footer = "Roofcast " + answer.head.tool_version,
                .machine = document.machine};
  // What no kernel's time was measured for is not decided, and says so at once.
  if (!rests_on_datasheet(answer.rows.front().step_sources)) {
    report.verdict = answer.holds;
  } else if (sentences.size() > 1) {
    report.answer += " " + sentences[1];
  }
  report.sections.push_back(
      {.heading = "Price against speed", .figures = capacity_table_figures(answer)});
  std::vector<std::string> lines{answer.workload};
  if (report.verdict) lines.insert(lines.end(), sentences.begin() + 1, sentences.end());
  report.sections.push_back(
      {.heading = "At the capacity of each", .lines = std::move(lines), .tables = {table.table}});
  return report;
}

}  // namespace roofcast

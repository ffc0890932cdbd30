#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/pages/answer_documents.hpp"
#include "reports/pages/capacity_table_report.hpp"
#include "reports/pages/cost_cells.hpp"
#include "roofcast/capacity_table.hpp"

namespace roofcast {
namespace {

Printed or_dash(const std::optional<double>& number, int digits) {
  return number ? printed::fixed(*number, digits) : "-";
}

/// "measured 71 %, ±8 %"
std::string figures_words(const CapacityTableRow& row) {
  const std::string source = step_source_words(row.step_sources);
  return source.empty() ? "-" : fmt::format("{}, ±{}", source, as_percent(row.step_uncertainty, 0));
}

std::string price_words(const CapacityTableRow& row) {
  const auto& price = row.cost.dollars_per_million_tokens;
  return price ? fmt::format(", ${} per million in and out", fixed(*price, 2)) : "";
}

/// What to say of a first that rests on the datasheet; empty if it does not.
std::string datasheet_text(const CapacityTableAnswer& answer) {
  const CapacityTableRow& best = answer.rows.front();
  if (!rests_on_datasheet(best.step_sources)) return "";
  const auto measured = std::ranges::find_if(answer.rows, [](const CapacityTableRow& row) {
    return row.capacity && rests_on_measurements(row.step_sources);
  });
  return fmt::format("The first rests on datasheet figures ({}): its kernels were not timed. {}",
                     figures_words(best),
                     measured == answer.rows.end()
                         ? "None of them rests on measurements of its GPU."
                         : fmt::format("The nearest that rests on measurements of its GPU: {}{}.",
                                       measured->title, price_words(*measured)));
}

std::vector<std::string> sentences(const CapacityTableAnswer& answer) {
  const CapacityTableRow& best = answer.rows.front();
  if (!best.capacity) return {"None of them carries any load."};
  std::string line = fmt::format("{}: {}{}", best.title, best.bounded ? "" : "at least ",
                                 as_load(best.load, *best.capacity));
  if (best.cost.dollars_per_million_tokens) {
    line = fmt::format("The cheapest tokens come from {}, ${} per million in and out", line,
                       fixed(*best.cost.dollars_per_million_tokens, 2));
  }
  std::vector<std::string> lines{line + "."};
  if (std::string text = datasheet_text(answer); !text.empty()) lines.push_back(std::move(text));
  return lines;
}

Table table_of(const CapacityTableAnswer& answer) {
  const bool rate = answer.rows.front().load == LoadKind::rate;
  Table table{.title = "",
              .columns = {{"GPUs", false},
                          {rate ? "Requests/s" : "In flight"},
                          {"Output tokens/s"},
                          {"$/M tokens"}},
              .rows = {}};
  add_cost_columns(table);
  table.columns.push_back({"Step times", false});
  table.columns.push_back({"Remark", false});
  for (const CapacityTableRow& row : answer.rows) {
    Printed capacity = row.capacity ? printed_load(*row.capacity) : "-";
    if (row.capacity && !row.bounded) {
      capacity.text.insert(0, "at least ");
      capacity.remark = "at least";
    }
    table.rows.push_back(
        {row.title, capacity,
         row.capacity ? printed::count(std::llround(row.output_tokens_per_s)) : "-",
         or_dash(row.cost.dollars_per_million_tokens, 2)});
    add_cost_cells(table.rows.back(), row.cost);
    table.rows.back().push_back(figures_words(row));
    table.rows.back().push_back(row.reason);
  }
  return table;
}

/// The price of a token against the speed that a user sees, up to the capacity: down and to the
/// right is better.
Figure cost_figure(const CapacityTableAnswer& answer) {
  Figure figure{
      .key = "cost_against_speed",
      .title = "Price of tokens against speed",
      .caption =
          "Each line is a deployment under growing load, up to its capacity, where "
          "its name stands. More load makes tokens cheaper and each user's slower: "
          "right and down is better.",
      .x = {.title = "output tokens/s that a user sees (1 / mean TPOT)", .low = 0},
      .y = {.title = "$ per million tokens, in and out", .scale = AxisScale::logarithmic}};
  for (const CapacityTableRow& row : answer.rows) {
    FigureSeries series{.name = row.title};
    for (const CapacityTablePoint& point : row.points) {
      if (!point.dollars_per_million_tokens) continue;
      const bool last = point.load == row.capacity;
      series.points.push_back(
          {.x = point.user_tokens_per_s,
           .y = *point.dollars_per_million_tokens,
           .label = fmt::format("{} at {}: {} tokens/s each, ${} per million", row.title,
                                as_load(row.load, point.load), fixed(point.user_tokens_per_s, 1),
                                fixed(*point.dollars_per_million_tokens, 3)),
           .name = last ? row.title : ""});
    }
    if (!series.points.empty()) figure.series.push_back(std::move(series));
  }
  return figure;
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
  Report report{.title = table.heading,
                .answer = sentences(answer).front(),
                .verdict = answer.holds,
                .footer = "Roofcast " + answer.head.tool_version,
                .machine = document.machine};
  report.sections.push_back(
      {.heading = "Price against speed", .figures = capacity_table_figures(answer)});
  std::vector<std::string> lines{answer.workload};
  if (std::string text = datasheet_text(answer); !text.empty()) lines.push_back(std::move(text));
  report.sections.push_back(
      {.heading = "At the capacity of each", .lines = std::move(lines), .tables = {table.table}});
  return report;
}

Document capacity_table_document(const CapacityTableAnswer& answer) {
  Section section{.heading = answer.inputs.scenario.model + ": capacity and cost of tokens",
                  .lines = {answer.workload},
                  .table = table_of(answer)};
  for (std::string& line : sentences(answer)) section.lines.push_back(std::move(line));
  section.lines.push_back(
      fmt::format("Tokens, prices and watts are those at the capacity of each: {}.",
                  counted(answer.simulations, "simulation")));
  return {.machine = to_json(answer), .sections = {std::move(section)}};
}

}  // namespace roofcast

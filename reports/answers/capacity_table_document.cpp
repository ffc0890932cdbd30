#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "planner/scenario/prices.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/answers/capacity_table_sections.hpp"
#include "reports/answers/cost_cells.hpp"
#include "roofcast/capacity_table.hpp"

namespace roofcast {
namespace {

Printed or_dash(const std::optional<double>& number, int digits) {
  return number ? printed::fixed(*number, digits) : "-";
}

std::string price_words(const CapacityTableRow& row) {
  const auto& price = row.cost.dollars_per_million_tokens;
  return price ? fmt::format(", ${} per million in and out", fixed(*price, kTokenPriceDigits)) : "";
}

/// What to say of a first that rests on the datasheet; empty if it does not.
std::string datasheet_text(const CapacityTableAnswer& answer) {
  const CapacityTableRow& best = answer.rows.front();
  if (!rests_on_datasheet(best.step_sources)) return "";
  const auto measured = std::ranges::find_if(answer.rows, [](const CapacityTableRow& row) {
    return row.capacity && rests_on_measurements(row.step_sources);
  });
  return fmt::format("The first rests on datasheet figures ({}): its kernels were not timed. {}",
                     step_source_words(best.step_sources, best.step_uncertainty),
                     measured == answer.rows.end()
                         ? "None of them rests on measurements of its GPU."
                         : fmt::format("The nearest that rests on measurements of its GPU: {}{}.",
                                       measured->title, price_words(*measured)));
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
         or_dash(row.cost.dollars_per_million_tokens, kTokenPriceDigits)});
    add_cost_cells(table.rows.back(), row.cost);
    table.rows.back().push_back(step_source_words(row.step_sources, row.step_uncertainty));
    table.rows.back().push_back(row.reason);
  }
  return table;
}

}  // namespace

std::vector<std::string> capacity_table_sentences(const CapacityTableAnswer& answer) {
  const CapacityTableRow& best = answer.rows.front();
  if (!best.capacity) return {"None of them carries any load."};
  std::string line = fmt::format("{}: {}{}", best.title, best.bounded ? "" : "at least ",
                                 as_load(best.load, *best.capacity));
  if (best.cost.dollars_per_million_tokens) {
    line = fmt::format("The cheapest tokens come from {}, ${} per million in and out", line,
                       fixed(*best.cost.dollars_per_million_tokens, kTokenPriceDigits));
  }
  std::vector<std::string> lines{line + "."};
  if (std::string text = datasheet_text(answer); !text.empty()) lines.push_back(std::move(text));
  return lines;
}

Document capacity_table_document(const CapacityTableAnswer& answer) {
  Section section{
      .heading = answer.inputs.scenario.deployment.model + ": capacity and cost of tokens",
      .lines = {answer.workload},
      .table = table_of(answer)};
  for (std::string& line : capacity_table_sentences(answer))
    section.lines.push_back(std::move(line));
  section.lines.push_back(
      fmt::format("Tokens, prices and watts are those at the capacity of each: {}.",
                  counted(answer.simulations, "simulation")));
  if (const std::string prices = words_of(answer.inputs.scenario.pricing); !prices.empty()) {
    section.lines.push_back("Prices: " + prices + ".");
  }
  return {.machine = to_json(answer), .sections = {std::move(section)}};
}

}  // namespace roofcast

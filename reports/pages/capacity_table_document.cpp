#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/pages/answer_documents.hpp"
#include "roofcast/capacity_table.hpp"

namespace roofcast {
namespace {

Printed or_dash(const std::optional<double>& number, int digits) {
  return number ? printed::fixed(*number, digits) : "-";
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
  return {line + "."};
}

Table table_of(const CapacityTableAnswer& answer) {
  const bool rate = answer.rows.front().load == LoadKind::rate;
  Table table{.title = "",
              .columns = {{"GPUs", false},
                          {rate ? "Requests/s" : "In flight"},
                          {"Output tokens/s"},
                          {"$/h"},
                          {"$/M output"},
                          {"$/M tokens"},
                          {"W"},
                          {"Remark", false}},
              .rows = {}};
  for (const CapacityTableRow& row : answer.rows) {
    Printed capacity = row.capacity ? printed_load(*row.capacity) : "-";
    if (row.capacity && !row.bounded) capacity = "at least " + capacity.text;
    table.rows.push_back(
        {row.title, capacity,
         row.capacity ? printed::count(std::llround(row.output_tokens_per_s)) : "-",
         or_dash(row.cost.dollars_per_hour, 2),
         or_dash(row.cost.dollars_per_million_output_tokens, 2),
         or_dash(row.cost.dollars_per_million_tokens, 2), or_dash(row.cost.board_power_w, 0),
         row.reason});
  }
  return table;
}

}  // namespace

Document capacity_table_document(const CapacityTableAnswer& answer) {
  Section section{.heading = answer.inputs.scenario.model + ": capacity and cost of tokens",
                  .lines = {answer.workload},
                  .table = table_of(answer)};
  for (std::string& line : sentences(answer)) section.lines.push_back(std::move(line));
  section.lines.push_back(
      fmt::format("At the capacity of each: {}.", counted(answer.simulations, "simulation")));
  return {.machine = to_json(answer), .sections = {std::move(section)}};
}

}  // namespace roofcast

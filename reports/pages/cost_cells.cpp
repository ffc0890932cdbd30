#include "reports/pages/cost_cells.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"

namespace roofcast {
namespace {

/// Energies of a token span four decades.
std::string as_joules(double joules) { return fmt::format("{:.3g} J", joules); }

}  // namespace

Printed cost_text(const ServingCost& cost, const CostFigure& figure) {
  const std::optional<double>& value = cost.*figure.value;
  return value ? printed::fixed(*value, figure.decimals) : "-";
}

void add_cost_columns(Table& table) {
  for (const CostFigure& figure : kCostFigures) {
    if (figure.in_tables) table.columns.push_back({figure.title});
  }
}

void add_cost_cells(std::vector<Cell>& cells, const ServingCost& cost) {
  for (const CostFigure& figure : kCostFigures) {
    if (figure.in_tables) cells.push_back(cost_text(cost, figure));
  }
}

std::string price_words(const ServingCost& cost) {
  if (!cost.dollars_per_hour) return {};
  std::string text = fmt::format("${} per hour", fixed(*cost.dollars_per_hour, 2));
  if (const auto& each = cost.dollars_per_million_output_tokens) {
    text += fmt::format(", ${} per million output tokens", fixed(*each, 2));
  }
  if (const auto& each = cost.dollars_per_million_tokens) {
    text += fmt::format(", ${} per million tokens in and out", fixed(*each, 2));
  }
  return text;
}

std::string power_words(const ServingCost& cost) {
  if (!cost.board_power_w) return {};
  const std::string limit = fixed(*cost.board_power_w, 0) + " W at the boards' limit";
  if (!cost.mean_power_w) return limit;
  std::string text = fmt::format("{} W drawn, {}", fixed(*cost.mean_power_w, 0), limit);
  if (const auto& each = cost.joules_per_output_token) {
    text += fmt::format(", {} per output token", as_joules(*each));
  }
  if (const auto& each = cost.joules_per_token) {
    text += fmt::format(", {} per token in and out", as_joules(*each));
  }
  return text;
}

}  // namespace roofcast

#include "reports/answers/cost_cells.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"

namespace roofcast {
namespace {

/// Energies of a token span four decades.
std::string as_joules(double joules) { return fmt::format("{:.3g} J", joules); }

}  // namespace

Printed cost_text(const ServingCost& cost, const CostFigure& figure) {
  const std::optional<double>& value = cost.*figure.value;
  return value ? printed_amount(*value, figure.decimals) : "-";
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

std::vector<std::string> price_parts(const ServingCost& cost) {
  if (!cost.dollars_per_hour) return {};
  std::vector<std::string> parts{fmt::format("${} per hour", fixed(*cost.dollars_per_hour, 2))};
  if (const auto& each = cost.dollars_per_million_output_tokens) {
    parts.push_back(fmt::format("${} per million output tokens", amount(*each, 2)));
  }
  if (const auto& each = cost.dollars_per_million_tokens) {
    parts.push_back(fmt::format("${} per million tokens in and out", amount(*each, 2)));
  }
  return parts;
}

std::vector<std::string> power_parts(const ServingCost& cost) {
  if (!cost.board_power_w) return {};
  std::vector<std::string> parts;
  if (cost.mean_power_w) parts.push_back(fixed(*cost.mean_power_w, 0) + " W drawn");
  parts.push_back(fixed(*cost.board_power_w, 0) + " W at the boards' limit");
  if (const auto& each = cost.joules_per_output_token) {
    parts.push_back(as_joules(*each) + " per output token");
  }
  if (const auto& each = cost.joules_per_token) {
    parts.push_back(as_joules(*each) + " per token in and out");
  }
  return parts;
}

std::string price_words(const ServingCost& cost) {
  return fmt::format("{}", fmt::join(price_parts(cost), ", "));
}

std::string power_words(const ServingCost& cost) {
  return fmt::format("{}", fmt::join(power_parts(cost), ", "));
}

std::string cost_words(const ServingCost& cost) {
  const std::string price = price_words(cost);
  const std::string power = power_words(cost);
  return price + (price.empty() || power.empty() ? "" : "; ") + power;
}

}  // namespace roofcast

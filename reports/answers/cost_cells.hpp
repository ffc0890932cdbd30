// Costs and power of an answer as text and as columns of tables.
#pragma once

#include <string>
#include <vector>

#include "planner/scenario/cost.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// A figure as its cell shows it; "-" if it is not known.
Printed cost_text(const ServingCost& cost, const CostFigure& figure);

/// Columns and cells of the figures that tables of several deployments have.
void add_cost_columns(Table& table);
void add_cost_cells(std::vector<Cell>& cells, const ServingCost& cost);

/// "$4.50 per hour", "$0.21 per million output tokens", ...; empty without a price.
std::vector<std::string> price_parts(const ServingCost& cost);

/// "412 W drawn", "700 W at the boards' limit", ...; empty if no power is known.
std::vector<std::string> power_parts(const ServingCost& cost);

/// "$4.50 per hour, $0.21 per million output tokens, $0.04 per million tokens in and out"; empty
/// without a price.
std::string price_words(const ServingCost& cost);

/// "412 W drawn, 700 W at the boards' limit, 0.35 J per output token, 0.06 J per token in and
/// out"; empty if no power is known.
std::string power_words(const ServingCost& cost);

/// Both, between them "; ".
std::string cost_words(const ServingCost& cost);

}  // namespace roofcast

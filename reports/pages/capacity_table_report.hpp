// Capacities of several GPUs as a page: the price of their tokens against the speed of each user's.
#pragma once

#include <vector>

#include "reports/pages/report.hpp"
#include "roofcast/capacity_table.hpp"

namespace roofcast {

/// The price of tokens against speed; none if no load holds or nothing has a price.
std::vector<Figure> capacity_table_figures(const CapacityTableAnswer& answer);

/// Precondition: the answer has a row.
Report capacity_table_report(const CapacityTableAnswer& answer);

}  // namespace roofcast

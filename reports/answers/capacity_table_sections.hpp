// Capacities of several GPUs as sentences, for the terminal and for the page.
#pragma once

#include <string>
#include <vector>

#include "roofcast/capacity_table.hpp"

namespace roofcast {

/// The cheapest and its price, then, where its times rest on a datasheet, that they do.
/// Precondition: the answer has a row.
std::vector<std::string> capacity_table_sentences(const CapacityTableAnswer& answer);

}  // namespace roofcast

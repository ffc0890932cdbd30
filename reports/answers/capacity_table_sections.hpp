// Capacities of several GPUs as sentences, for the terminal and for the page.
#pragma once

#include <string>
#include <vector>

#include "roofcast/capacity_table.hpp"

namespace roofcast {

/// Decimals of dollars per million tokens, prompts included: the cheapest GPUs differ in the third.
inline constexpr int kTokenPriceDigits = 3;

/// The cheapest and its price, then, where its times rest on a datasheet, that they do.
/// Precondition: the answer has a row.
std::vector<std::string> capacity_table_sentences(const CapacityTableAnswer& answer);

}  // namespace roofcast

// A capacity in words and tables, for the terminal and for its report.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "roofcast/capacity.hpp"

namespace roofcast {

/// What it carries, where that ends, whether the load asked for holds, until when and with a
/// replica fewer: a sentence each.
std::vector<std::string> capacity_sentences(const CapacityAnswer& answer);

/// The sentences with the curve, the limits at capacity, and the notes.
std::vector<Section> capacity_sections(const CapacityAnswer& answer);

}  // namespace roofcast

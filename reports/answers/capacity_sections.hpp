// A capacity as sentences and tables, for the terminal and for its report.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "roofcast/capacity.hpp"

namespace roofcast {

/// One sentence each: the capacity, what ends it, whether the requested load holds, how long that
/// lasts under growth, and the capacity with one replica fewer.
std::vector<std::string> capacity_sentences(const CapacityAnswer& answer);

/// The sentences, the curve, the limits at capacity, and the notes.
std::vector<Section> capacity_sections(const CapacityAnswer& answer);

}  // namespace roofcast

// Runs of the store beside each other, metric by metric, each against the first.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// Two runs or more. Where both sides of a comparison kept their requests, the differences of what
/// requests have by themselves (TTFT, TPOT, E2E, waits) have intervals of 95 % from blocks of
/// neighbouring requests (base/paired_difference.hpp), in pairs when both served the same ones.
Document compare_document(const std::vector<Run>& runs, const std::string& path);

}  // namespace roofcast

// Runs of the store side by side, metric by metric, each compared with the first.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// Two or more runs. Where both runs of a comparison kept their requests, differences in
/// per-request metrics (TTFT, TPOT, E2E, waits) have 95 % intervals from blocks of neighbouring
/// requests (base/paired_difference.hpp), paired if both served the same requests.
Document compare_document(const std::vector<Run>& runs, const std::string& path);

}  // namespace roofcast

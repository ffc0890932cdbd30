// The report on a what-if: its variants beside the baseline.
#pragma once

#include "reports/pages/report.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// All runs of the store that the same command made stand beside each other.
Report what_if_report(const Store& store, const Run& run);

}  // namespace roofcast

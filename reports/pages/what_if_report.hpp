// The report on a what-if: its variants against the baseline.
#pragma once

#include "reports/pages/report.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// Includes all runs of the store from the same execution of the command.
Report what_if_report(const Store& store, const Run& run);

}  // namespace roofcast

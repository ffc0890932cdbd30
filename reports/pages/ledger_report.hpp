// The report on predictions against measured runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reports/pages/report.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// All validations of the store together. Throws Error if there are none.
Report ledger_report(const std::string& store_path);

/// One run of kind validate.
Report validation_report(const std::string& store_path, const Run& run);

}  // namespace roofcast

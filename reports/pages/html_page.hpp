// A report as one self-contained HTML file: styles, scripts, charts and their numbers are inside.
// Every figure is included as a picture; if scripts run, an interactive chart replaces it, except
// in print.
#pragma once

#include <string>

#include "reports/pages/report.hpp"

namespace roofcast {

/// Throws Error if a figure cannot be drawn (reports/figures/chart_option.hpp). In a build without
/// charts only the figures' tables are shown.
std::string html_page(const Report& report);

}  // namespace roofcast

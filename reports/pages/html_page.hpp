// A report as one HTML file that needs nothing beside itself: style, script, charts and their
// numbers are inside. Every figure is there as a picture; where scripts run, an interactive chart
// stands in its place, and in print the picture again.
#pragma once

#include <string>

#include "reports/pages/report.hpp"

namespace roofcast {

/// Throws Error where a figure cannot be drawn (chart_option.hpp). In a build without charts the
/// figures are their tables alone.
std::string html_page(const Report& report);

}  // namespace roofcast

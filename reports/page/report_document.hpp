// A report as a document: for the terminal, Markdown, CSV and JSON, in which a figure is its table.
#pragma once

#include "reports/page/report.hpp"

namespace roofcast {

/// `machine` of the report with "answer", "verdict" and "sections"; each figure with all its
/// points.
Document report_document(const Report& report);

}  // namespace roofcast

// A report as a document: for the terminal, Markdown, CSV and JSON, in which a figure is its table.
#pragma once

#include <iosfwd>

#include "reports/pages/report.hpp"

namespace roofcast {

/// `machine` of the report with "answer", "verdict" and "sections"; each figure with all its
/// points.
Document report_document(const Report& report);

/// In a form as write() has it; in Markdown commands stand in fences, on a terminal as they are.
void write(const Report& report, OutputFormat format, std::ostream& out);

}  // namespace roofcast

// A report as a document, for terminal, Markdown, CSV and JSON; figures become tables.
#pragma once

#include <iosfwd>

#include "reports/pages/report.hpp"

namespace roofcast {

/// The report's `machine` plus "answer", "verdict" and "sections"; each figure with all its points.
Document report_document(const Report& report);

/// Writes a report in a format of document.hpp; commands are fenced in Markdown and plain on a
/// terminal.
void write(const Report& report, OutputFormat format, std::ostream& out);

}  // namespace roofcast

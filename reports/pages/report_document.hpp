// A report as a document, for terminal, Markdown, CSV and JSON; figures become tables.
#pragma once

#include <functional>
#include <iosfwd>

#include "reports/pages/report.hpp"

namespace roofcast {

/// The report's `machine` plus "answer", "verdict" and "sections"; each figure with all its points.
Document report_document(const Report& report);

/// Changes a part of the text output, such as to the width of a terminal.
using LaidOut = std::function<Document(Document)>;

/// Writes a report in a format of reports/document.hpp; commands are fenced in Markdown and plain
/// on a terminal, where `laid_out`, if set, is applied to the rest.
void write(const Report& report, OutputFormat format, std::ostream& out,
           const LaidOut& laid_out = {});

}  // namespace roofcast

// Writes a report to the requested files.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "reports/pages/report.hpp"

namespace roofcast {

/// Paths; empty: not requested. "-" for md, csv and json is standard output.
struct ReportFiles {
  std::string html{}, md{}, csv{}, json{};
  std::string svg{}, png{};  // folders, one file per figure

  bool any() const;
};

/// Call before the work starts: throws UsageError if a file would overwrite one that the report
/// reads or another output, Error if one cannot be written or this build cannot draw.
void check_files(const ReportFiles& files, const std::vector<std::string>& read);

/// Writes each file completely or not at all.
void write_report(const Report& report, const ReportFiles& files, std::ostream& out);

}  // namespace roofcast

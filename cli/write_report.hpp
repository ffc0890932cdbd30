// A report into the files that were asked for.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "reports/pages/report.hpp"

namespace roofcast {

/// Paths; empty: not asked for. "-" of md, csv and json is standard output.
struct ReportFiles {
  std::string html{}, md{}, csv{}, json{};
  std::string svg{}, png{};  // folders, a file a figure

  bool any() const;
};

/// Before the work starts: throws UsageError where a file would be written over that the report
/// reads or that another form goes to, Error where one cannot be written or this build cannot draw.
void check_files(const ReportFiles& files, const std::vector<std::string>& read);

/// Every file whole or not at all.
void write_report(const Report& report, const ReportFiles& files, std::ostream& out);

}  // namespace roofcast

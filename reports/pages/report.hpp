// A report before formatting: the answer in a sentence, then sections with sentences, figures and
// tables. The HTML page and all other formats are written from this.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/document.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

struct ReportSection {
  std::string heading{};
  std::vector<std::string> lines{};
  std::vector<Figure> figures{};
  std::vector<Table> tables{};
  std::vector<std::string> commands{};  // to be run again, one per line
};

/// A section of a command's answer, in its report.
ReportSection report_section(Section section);

/// A figure that readers look for first.
struct ReportTile {
  std::string name{};
  std::string value{};
  std::string note{};  // smaller, below
};

struct Report {
  std::string title{};
  std::string answer{};  // the whole answer in one sentence
  std::optional<bool>
      verdict{};  // whether the answer is yes; unset if it is not a yes-or-no question or is open
  std::vector<ReportTile> tiles{};                           // of the page
  std::vector<std::pair<std::string, std::string>> facts{};  // names and values of the subject
  std::vector<ReportSection> sections{};
  std::string footer{};
  Json machine{};  // for --json, without the sections
};

}  // namespace roofcast

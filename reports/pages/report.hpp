// A report before it has a form: the answer in a sentence, then sections of sentences, figures and
// tables. The HTML page and every other form are written from this.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/figures/figure.hpp"

namespace roofcast {

struct ReportSection {
  std::string heading{};
  std::vector<std::string> lines{};
  std::vector<Figure> figures{};
  std::vector<Table> tables{};
  std::vector<std::string> commands{};  // to be typed again, one a line
};

struct Report {
  std::string title{};
  std::string answer{};           // the whole in a sentence
  std::optional<bool> verdict{};  // whether that is yes; unset where nothing was asked
  std::vector<std::pair<std::string, std::string>>
      facts{};  // name and value, of what this is about
  std::vector<ReportSection> sections{};
  std::string footer{};
  Json machine{};  // for --json, without the sections
};

}  // namespace roofcast

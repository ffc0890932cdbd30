#include "cli/spelling.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <utility>
#include <vector>

#include "base/keys.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"

namespace roofcast {

std::string with_flags(std::string_view message) {
  return with_keys(message,
                   [](std::string_view key) { return "--" + with_dashes(std::string(key)); });
}

void print(Document document, OutputFormat format, const CommandContext& context) {
  for (Section& section : document.sections) {
    section.heading = with_flags(section.heading);
    for (std::string& line : section.lines) line = with_flags(line);
    for (auto& row : section.table.rows) {
      for (Cell& cell : row) cell.text = with_flags(cell.text);
    }
  }
  if (format != OutputFormat::table) return write(document, format, context.out);
  document = fitted(std::move(document), context.terminal.width);
  if (!context.terminal.colour) return write(document, format, context.out);
  std::vector<std::string> headings;
  for (const Section& section : document.sections) {
    headings.push_back(section.heading);
    headings.push_back("  " + section.table.title);
    headings.push_back(section.table.title);
  }
  std::ostringstream text;
  write(document, format, text);
  context.out << coloured(text.str(), headings);
}

}  // namespace roofcast

#include "cli/spelling.hpp"

#include <algorithm>

#include "base/keys.hpp"

namespace roofcast {

std::string with_flags(std::string_view message) {
  return with_keys(message, [](std::string_view key) {
    std::string flag = "--" + std::string(key);
    std::ranges::replace(flag, '_', '-');
    return flag;
  });
}

void print(Document document, OutputFormat format, std::ostream& out) {
  for (Section& section : document.sections) {
    section.heading = with_flags(section.heading);
    for (std::string& line : section.lines) line = with_flags(line);
    for (auto& row : section.table.rows) {
      for (std::string& cell : row) cell = with_flags(cell);
    }
  }
  write(document, format, out);
}

}  // namespace roofcast

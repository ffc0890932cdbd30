// How an answer looks on a terminal: tables and sentences fit its width, verdicts and bars have
// colours. Output to a file or a pipe is untouched, so that it is the same everywhere.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/document.hpp"

namespace roofcast {

struct Terminal {
  std::size_t width = 0;  // columns; 0: lines are as long as they are
  bool colour = false;
};

/// --color
enum class ColourChoice { automatic, always, never };

/// "auto", "always" or "never"; throws UsageError for any other text.
ColourChoice parse_colour_choice(const std::string& text);

/// The terminal of standard output. `columns`, `no_color` and `term` are the environment's COLUMNS,
/// NO_COLOR (no-color.org: any value but an empty one) and TERM, null where unset. On a terminal
/// COLUMNS overrides the terminal's own width.
Terminal terminal_of_output(const char* columns, const char* no_color, const char* term);

/// `document` with tables and sentences that fit `width` columns: titles and texts of cells are
/// wrapped, and where that is not enough the columns that are left follow below, each part with the
/// first columns, as many as tell the rows apart. A line with two or more flags, which is a command
/// to copy, is left whole. Unchanged if `width` is 0; less than 40 counts as 40.
Document fitted(Document document, std::size_t width);

/// Text output of a document with ANSI colours: lines equal to one of `headings` bold, verdicts
/// green, red or yellow, bars blue.
std::string coloured(const std::string& text, const std::vector<std::string>& headings);

}  // namespace roofcast

// The manual page, generated from the program's option tables.
#pragma once

#include <span>
#include <string>

#include "cli/shell/program_facts.hpp"

namespace roofcast {

/// roofcast.1 in roff (man macros; man-pages(7), groff_man_style(7)): all commands with their
/// flags, output, exit status, files and examples.
std::string manual_page(std::span<const CommandFacts> commands);

}  // namespace roofcast

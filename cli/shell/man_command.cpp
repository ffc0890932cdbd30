// roofcast man: prints the manual page for man(1).
#include <ostream>

#include "cli/options/arguments.hpp"
#include "cli/shell/manual_page.hpp"

namespace roofcast {

int run_man(CommandContext& context) {
  const Usage usage{.synopsis = "roofcast man",
                    .example = "roofcast man | man -l -",
                    .options = option_group(""),
                    .unlisted = {},
                    .positional = {}};
  if (!parse(context, usage)) return kExitDone;
  context.out << manual_page(program_facts());
  return kExitDone;
}

}  // namespace roofcast

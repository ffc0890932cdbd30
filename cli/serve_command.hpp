// roofcast serve: simulator and store as a web page.
#pragma once

#include "cli/command.hpp"

namespace roofcast {

int run_serve(CommandContext&);

}  // namespace roofcast

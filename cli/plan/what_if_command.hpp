// `roofcast whatif`, for the table of commands.
#pragma once

#include "cli/command.hpp"

namespace roofcast {

int run_whatif(CommandContext&);

}  // namespace roofcast

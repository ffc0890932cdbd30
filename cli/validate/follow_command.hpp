// `roofcast validate --follow`: a server's metrics beside a simulation, line by line as they come
// in.
#pragma once

#include "cli/command.hpp"
#include "reports/document.hpp"
#include "roofcast/shadow.hpp"

namespace roofcast {

/// Prints each window as it is simulated (as table or jsonl; other formats print all at the end),
/// and what they come to, until Ctrl-C. Returns the exit code: 3 if a limit is exceeded, 1 if there
/// was no window or a limit that no figure is about.
int run_follow(const ShadowQuestion& question, OutputFormat output, CommandContext& context);

}  // namespace roofcast

// --from-cmd: takes the deployment from an engine's command line.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "cli/options/arguments.hpp"
#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {

/// --from-cmd, taking a line or @FILE.
po::options_description from_command_option(std::string& line);

/// Fills unset `options` from the line, and lists on `err` the parts that are ignored. Does nothing
/// for an empty line. Throws UsageError for a line that cannot be read.
void take_from_command(DeploymentOptions& options, const std::string& line, std::ostream& err);

/// Removes the line's speculative decoding, which has no effect if nothing is simulated.
void leave_out_drafts(DeploymentOptions& options, std::ostream& err);

/// The line without keys and tokens, for the store.
std::string without_secrets(std::string_view line);

}  // namespace roofcast

// --from-cmd: a deployment said by the command line that starts it.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "cli/options/arguments.hpp"
#include "planner/deploy.hpp"

namespace roofcast {

/// --from-cmd, a line or @FILE.
po::options_description from_command_option(std::string& line);

/// Fills what `options` leaves open by what the line says, and tells `err` what of it is not
/// counted. Does nothing for an empty line. Throws UsageError for a line that cannot be read.
void take_from_command(DeploymentOptions& options, const std::string& line, std::ostream& err);

/// Where nothing is simulated, drafts change nothing: those of the line are left out.
void leave_out_drafts(DeploymentOptions& options, std::ostream& err);

/// The line without the keys and tokens that people have in it, for the store.
std::string without_secrets(std::string_view line);

}  // namespace roofcast

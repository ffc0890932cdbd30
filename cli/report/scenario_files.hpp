// What of a stored scenario is not its own: files of this machine.
#pragma once

#include "simulator/scenario.hpp"

namespace roofcast {

/// Whether simulating it would open a file: a trace, lengths, a model or a profile by path.
bool opens_files(const Scenario& scenario);

}  // namespace roofcast

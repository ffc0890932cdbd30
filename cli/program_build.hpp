// Identifies the build: two builds of one version may compute different answers.
#pragma once

#include <string>

namespace roofcast {

/// The version with a hash of the loaded program, "0.1.0 8f0c...": equal for copies of one build.
/// Only the version if the system does not expose the file. Reads several megabytes: call it once.
std::string program_build();

}  // namespace roofcast

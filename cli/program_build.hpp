// Which build of the program this is: two of one version may differ in what they answer.
#pragma once

#include <string>

namespace roofcast {

/// The version with a hash of the program as loaded, "0.1.0 8f0c...": equal for copies of one
/// build. The version alone where the system does not show the file. Reads some megabytes: call it
/// once.
std::string program_build();

}  // namespace roofcast

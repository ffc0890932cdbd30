// The values of options that take one of a fixed list, for shell completion.
#pragma once

#include <string>
#include <vector>

namespace roofcast {

/// The values of an option, in the order that messages list them; empty: no fixed list, or one that
/// completion gets elsewhere (models, GPUs, engines). The name is without dashes.
std::vector<std::string> option_values(const std::string& option);

}  // namespace roofcast

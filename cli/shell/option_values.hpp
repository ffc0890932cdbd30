// The values of options that take one of a fixed list, for shell completion.
#pragma once

#include <string>
#include <vector>

namespace roofcast {

/// What an option may be set to, in the order that messages name it; empty: no fixed list, or one
/// that completion knows otherwise (models, GPUs, engines). The name is without dashes.
std::vector<std::string> option_values(const std::string& option);

}  // namespace roofcast

// How the command line spells the keys in messages of the library (base/keys.hpp).
#pragma once

#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// "`max_model_len`: 0" becomes "--max-model-len: 0".
std::string with_flags(std::string_view message);

/// write() to the command's output with flags in headings, sentences and cells; JSON keeps the
/// keys. A table fits the terminal and has its colours.
void print(Document document, OutputFormat format, const CommandContext& context);

}  // namespace roofcast

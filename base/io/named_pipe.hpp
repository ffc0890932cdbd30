// Inputs that are no files.
#pragma once

#include <string>

namespace roofcast {

/// Throws Error for a named pipe, which nobody may ever write to: opening it would wait. The pipe
/// of a shell's <(command), which has no name of its own, is read like a file.
void refuse_named_pipe(const std::string& path);

}  // namespace roofcast

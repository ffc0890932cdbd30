// Inputs that are not files.
#pragma once

#include <string>

namespace roofcast {

/// Throws Error for a named pipe: opening it would block until something writes to it. The pipe of
/// a shell's <(command), which has no name of its own, is read like a file.
void refuse_named_pipe(const std::string& path);

}  // namespace roofcast

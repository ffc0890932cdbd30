// Files that commands write, other than the store.
#pragma once

#include <string>
#include <vector>

namespace roofcast {

/// Throws Error if `path` cannot be opened for writing; keeps its contents, and leaves no file
/// where there was none.
void check_writable(const std::string& path);

/// Writes `text` to `path` completely or not at all: on failure keeps the previous contents and
/// throws Error with the reason.
void write_whole(const std::string& path, const std::string& text);

/// Throws UsageError naming `flag` if `path` is one of the files in `kept`, under any name; skips
/// entries that are not file paths.
void check_not_among(const std::string& path, const std::string& flag,
                     const std::vector<std::string>& kept);

}  // namespace roofcast

// Files that commands write, besides the store.
#pragma once

#include <string>
#include <vector>

namespace roofcast {

/// Throws Error when `path` could not be opened for writing; what it holds stays, and no file is
/// left where there was none.
void check_writable(const std::string& path);

/// Puts `text` at `path` whole or not at all: what was there before stays when it fails, and then
/// Error says why.
void write_whole(const std::string& path, const std::string& text);

/// Throws UsageError naming `flag` when `path` is one of the files `kept`, under whatever name;
/// what is no path of a file there is passed over.
void check_not_among(const std::string& path, const std::string& flag,
                     const std::vector<std::string>& kept);

}  // namespace roofcast

// A folder of results: which of its files hold runs, and which repeat those of others.
#pragma once

#include <string>
#include <vector>

namespace roofcast {

/// A file that may hold results.
struct ResultFile {
  std::string path{};
  /// Files beside it (of a sweep's summary: below it) that hold the same runs, richer; this one
  /// counts only where none of those can be read.
  std::vector<std::string> repeats{};
};

/// `path` itself, or what may hold a result below it, in the order of their paths. Left out: what
/// tools write beside their results (failed attempts, warm-ups). Throws Error for a folder that
/// cannot be read.
std::vector<ResultFile> result_files(const std::string& path);

}  // namespace roofcast

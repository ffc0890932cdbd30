// A folder of results: which files hold runs, and which repeat the runs of others.
#pragma once

#include <string>
#include <vector>

namespace roofcast {

/// A file that may hold results.
struct ResultFile {
  std::string path{};
  /// Files next to this one (for a sweep's summary: below it) that hold the same runs in more
  /// detail; this one is used only if none of them can be read.
  std::vector<std::string> repeats{};
};

/// `path` itself if it is a file, else the files below it that may hold results, sorted by path.
/// Leaves out companions of results (failed attempts, warm-ups). Throws Error if a folder cannot be
/// read.
std::vector<ResultFile> result_files(const std::string& path);

}  // namespace roofcast

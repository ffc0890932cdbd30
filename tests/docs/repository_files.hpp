// The project's files for these tests: sources and documents, without build folders and third-party
// files.
#pragma once

#include <string>
#include <vector>

namespace roofcast::test {

struct TextLine {
  int number = 0;  // from 1
  std::string text{};
};

/// Paths relative to the project's root with forward slashes, sorted. Leaves out build folders,
/// .git and node_modules.
std::vector<std::string> repository_files();

/// Lines of a file of the project. Throws std::runtime_error if it cannot be read.
std::vector<TextLine> lines_of(const std::string& path);

/// C++ and CUDA sources.
bool is_source(const std::string& path);

/// For "a/b/name": "name".
std::string file_name(const std::string& path);

/// For "a/b/name": "a/b"; empty for a file at the root.
std::string folder_of(const std::string& path);

}  // namespace roofcast::test

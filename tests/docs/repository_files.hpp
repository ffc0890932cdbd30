// The project's files as these tests read them: sources and documents, without build folders and
// what others installed.
#pragma once

#include <string>
#include <vector>

namespace roofcast::test {

struct TextLine {
  int number = 0;  // from 1
  std::string text{};
};

/// Paths below the project's root with forward slashes, ascending. Left out: build folders, .git
/// and node_modules.
std::vector<std::string> repository_files();

/// Lines of a file of the project. Throws std::runtime_error when it cannot be read.
std::vector<TextLine> lines_of(const std::string& path);

/// C++ and CUDA sources.
bool is_source(const std::string& path);

/// `name` of "a/b/name".
std::string file_name(const std::string& path);

/// "a/b" of "a/b/name"; empty for a file at the root.
std::string folder_of(const std::string& path);

}  // namespace roofcast::test

#include "tests/docs/repository_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace roofcast::test {
namespace {

namespace fs = std::filesystem;

bool is_left_out(const std::string& path) {
  const std::string name = file_name(path);
  return path == "build" || name == ".git" || name == "node_modules";
}

bool has_end(const std::string& path, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](std::string_view end) { return path.ends_with(end); });
}

}  // namespace

std::vector<std::string> repository_files() {
  const fs::path root = ROOFCAST_SOURCE_DIR;
  std::vector<std::string> files;
  for (auto entry = fs::recursive_directory_iterator(root);
       entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string path = entry->path().lexically_relative(root).generic_string();
    if (is_left_out(path)) {
      if (entry->is_directory()) entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<TextLine> lines_of(const std::string& path) {
  std::ifstream file(fs::path(ROOFCAST_SOURCE_DIR) / path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::vector<TextLine> lines;
  TextLine line;
  while (std::getline(file, line.text)) {
    ++line.number;
    lines.push_back(line);
  }
  return lines;
}

bool is_source(const std::string& path) {
  return has_end(path, {".cpp", ".hpp", ".cu", ".cuh", ".h"});
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace roofcast::test

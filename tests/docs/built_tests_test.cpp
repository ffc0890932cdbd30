// Every test is part of a program: a file that no CMakeLists.txt names is never compiled, and
// nothing else says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/docs/repository_files.hpp"

namespace roofcast::test {
namespace {

bool is_test(const std::string& path) { return path.ends_with("_test.cpp"); }

/// The tests that a CMakeLists.txt names, relative to its folder or to the project's root
/// (${CMAKE_SOURCE_DIR}/tests/...).
void add_named(const std::string& list, std::set<std::string>& named) {
  for (const TextLine& line : lines_of(list)) {
    std::istringstream words(line.text.substr(0, line.text.find('#')));
    for (std::string word; words >> word;) {
      word.erase(std::remove(word.begin(), word.end(), ')'), word.end());
      if (!is_test(word)) continue;
      const std::size_t root = word.find("/tests/");
      named.insert(root != std::string::npos ? word.substr(root + 1)
                                             : (std::filesystem::path(folder_of(list)) / word)
                                                   .lexically_normal()
                                                   .generic_string());
    }
  }
}

TEST(Tests, AreAllPartOfAProgram) {
  const std::vector<std::string> files = repository_files();
  std::set<std::string> named;
  for (const std::string& path : files) {
    if (path.starts_with("tests/") && file_name(path) == "CMakeLists.txt") add_named(path, named);
  }
  std::size_t tests = 0;
  for (const std::string& path : files) {
    if (!path.starts_with("tests/") || !is_test(path)) continue;
    ++tests;
    EXPECT_TRUE(named.contains(path)) << path << " is in no CMakeLists.txt";
  }
  EXPECT_GT(tests, 300u);
}

}  // namespace
}  // namespace roofcast::test

// Runs the program in this process, with a command line as a user would type it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace roofcast::test {

struct CommandResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// Splits at spaces; 'single quotes' group words.
inline std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool started = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
      started = true;
    } else if (c == ' ' && !quoted) {
      if (started) words.push_back(word);
      word.clear();
      started = false;
    } else {
      word += c;
      started = true;
    }
  }
  if (started) words.push_back(word);
  return words;
}

/// Errors and notes without the lines of progress, which come by the clock: a slow machine writes
/// more of them.
inline std::string without_progress(const std::string& err) {
  static const std::regex progress(
      R"((^|\n)(then )?[0-9,]+ of (at least )?[0-9,]+ [a-z]+[^\n]*(?=\n))");
  std::string rest = std::regex_replace(err, progress, "");
  if (rest.starts_with('\n') && !err.starts_with('\n')) rest.erase(0, 1);
  return rest;
}

/// `line` without the leading "roofcast".
inline CommandResult run_command(const std::string& line, const Terminal& terminal = {}) {
  std::vector<std::string> words = split_words(line);
  words.insert(words.begin(), "roofcast");
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(static_cast<int>(argv.size()), argv.data(), out, err, terminal);
  return {code, out.str(), without_progress(err.str())};
}

/// What is in a file; empty if there is none.
inline std::string text_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder for one test, which is the working directory during its lifetime.
class TemporaryFolder {
 public:
  TemporaryFolder() : before_(std::filesystem::current_path()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "roofcast-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    std::filesystem::current_path(path_);
  }
  ~TemporaryFolder() {
    std::filesystem::current_path(before_);
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path before_;
  std::filesystem::path path_;
};

}  // namespace roofcast::test

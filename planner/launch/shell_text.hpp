// A launch script as a shell reads it, as far as people post them: words, quotes, continued lines,
// comments, variables, here-documents. Nothing is run and no file is read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roofcast {

struct ShellCommand {
  std::vector<std::pair<std::string, std::string>> assignments{};  // NAME=value before the words
  bool exports = false;  // export NAME=value: for the commands that follow
  std::vector<std::string> words{};
};

struct ShellScript {
  std::vector<ShellCommand> commands{};        // those without words only assign
  std::map<std::string, std::string> files{};  // here-documents, by the file they are written to
};

/// What is longer is no command line.
inline constexpr std::size_t kLongestScript = std::size_t{256} * 1024;

/// Commands in their order. Variables that the text sets are put in; others, and what a command
/// would have to print, stay as they are written ("$MODEL"). Arrays are not read. Throws UsageError
/// for an open quote or here-document and for a text over kLongestScript.
ShellScript read_shell(std::string_view text);

}  // namespace roofcast

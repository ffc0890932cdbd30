// Parses launch scripts as commonly posted: words, quotes, continued lines, comments, variables,
// here-documents. Runs nothing and reads no files.
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

/// Maximum size of a script, in bytes.
inline constexpr std::size_t kLongestScript = std::size_t{256} * 1024;

/// Commands in order. Expands variables that the text sets; other variables and command
/// substitutions stay as written ("$MODEL"). Does not read arrays. Throws UsageError for an
/// unclosed quote or here-document and for a text over kLongestScript.
ShellScript read_shell(std::string_view text);

}  // namespace roofcast

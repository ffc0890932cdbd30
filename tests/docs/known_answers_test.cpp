// docs/learn.md works sums out by hand; what the program answers to them is held in a golden file.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "tests/docs/repository_files.hpp"

namespace roofcast::test {
namespace {

constexpr std::string_view kHeading = "## Answers known beforehand";

/// The commands below the heading, on one line each.
std::set<std::string> commands_of_lesson() {
  std::set<std::string> commands;
  bool below = false;
  std::string command;
  for (const TextLine& line : lines_of("docs/learn.md")) {
    below = below || line.text == kHeading;
    if (!below || (command.empty() && !line.text.starts_with("roofcast "))) continue;
    std::string_view part = line.text;
    while (part.starts_with(' ')) part.remove_prefix(1);
    const bool continues = part.ends_with('\\');
    if (continues) part.remove_suffix(1);
    command += part;
    if (continues) continue;
    commands.insert(command);
    command.clear();
  }
  return commands;
}

TEST(KnownAnswers, EachCommandHasAGoldenOutput) {
  std::set<std::string> held;
  for (const TextLine& line : lines_of("tests/golden/learn_known.txt")) {
    if (line.text.starts_with("$ ")) held.insert(std::string(line.text).substr(2));
  }
  const std::set<std::string> shown = commands_of_lesson();
  EXPECT_GE(shown.size(), 10U);
  for (const std::string& command : shown) {
    EXPECT_TRUE(held.contains(command)) << command;
  }
}

}  // namespace
}  // namespace roofcast::test

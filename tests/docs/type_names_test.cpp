// To the linker, two types with the same name and namespace are the same type, whatever their
// members: it keeps one destructor for both, and the program crashes far from the cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/docs/repository_files.hpp"

namespace roofcast::test {
namespace {

/// "namespace::Name" of each type that the source defines at its left margin, outside unnamed
/// namespaces.
std::vector<std::string> types_defined_in(const std::vector<std::string>& lines) {
  static const std::regex named(R"(^namespace ([\w:]+) \{$)");
  static const std::regex type(R"(^(?:struct|class|enum class|enum) (\w+)(?: [^;]*)?$)");
  std::vector<std::string> found;
  std::string space;
  bool unnamed = false;
  for (const std::string& line : lines) {
    std::smatch match;
    if (std::regex_match(line, match, named)) space = match[1];
    if (line == "namespace {") unnamed = true;
    if (line == "}  // namespace") unnamed = false;
    if (!unnamed && std::regex_match(line, match, type))
      found.push_back(space + "::" + match.str(1));
  }
  return found;
}

TEST(TypeNames, AreFoundWhereTheyAreDefined) {
  EXPECT_THAT(types_defined_in({"struct Early;", "namespace a::b {", "struct One {",
                                "enum class Two : int {", "class Three;", "namespace {",
                                "struct Mine {", "}  // namespace", "struct Traits<One> {",
                                "class Four final : public One {"}),
              testing::ElementsAre("a::b::One", "a::b::Two", "a::b::Four"));
}

TEST(TypeNames, AreUniqueInTheirNamespace) {
  std::map<std::string, std::vector<std::string>> files;
  for (const std::string& file : repository_files()) {
    if (!is_source(file) || file.starts_with("tests/") || file.starts_with("examples/")) continue;
    // One of the two is compiled, by what the machine has.
    if (file.ends_with("_absent.cpp") || file.ends_with("_alone.cpp")) continue;
    std::vector<std::string> lines;
    for (const TextLine& line : lines_of(file)) lines.push_back(line.text);
    for (const std::string& name : types_defined_in(lines)) files[name].push_back(file);
  }
  EXPECT_GT(files.size(), 300U);
  for (const auto& [name, where] : files) {
    EXPECT_EQ(where.size(), 1U) << name << " is defined in " << testing::PrintToString(where);
  }
}

}  // namespace
}  // namespace roofcast::test

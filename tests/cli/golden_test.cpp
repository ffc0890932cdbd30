// Pins whole outputs: each file of tests/golden holds a command line after "$ roofcast", its output
// and its exit code. `ninja golden` rewrites them; the commit explains the change. The commands run
// in a folder with the invented hardware profiles of tests/golden/profiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/run_command.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

constexpr std::string_view kPrompt = "$ roofcast ";

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(ROOFCAST_SOURCE_DIR "/tests/golden")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The expected file: the commands of `text`, each followed by its current output.
std::string replay(const std::string& text) {
  const TemporaryFolder folder;
  std::filesystem::copy(ROOFCAST_SOURCE_DIR "/tests/golden/profiles", folder.path());
  std::istringstream lines(text);
  std::string line;
  std::string result;
  while (std::getline(lines, line)) {
    if (!line.starts_with(kPrompt)) continue;
    const CommandResult run = run_command(line.substr(kPrompt.size()));
    result += line + "\n" + run.out + run.err + "[exit " + std::to_string(run.exit_code) + "]\n";
  }
  return result;
}

class Golden : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, OutputIsAsRecorded) {
  const std::string name = GetParam().stem().string();
  if (kSanitised && (name == "plan" || name == "week")) GTEST_SKIP() << "minutes of simulations";
  const std::string recorded = read_text(GetParam());
  ASSERT_NE(recorded.find(kPrompt), std::string::npos) << "no command in " << GetParam();
  EXPECT_EQ(replay(recorded), recorded);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()),
                         [](const testing::TestParamInfo<std::filesystem::path>& file) {
                           return file.param.stem().string();
                         });

void rewrite_all() {
  for (const auto& path : golden_files()) {
    const std::string text = replay(read_text(path));
    std::ofstream(path) << text;
    std::cout << path.filename().string() << "\n";
  }
}

}  // namespace
}  // namespace roofcast::test

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--rewrite") {
    roofcast::test::rewrite_all();
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

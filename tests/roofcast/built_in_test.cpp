// Names that are refused because a file would be read for them.
#include "roofcast/built_in.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/roofcast/read_back.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

std::string refusal(const DeploymentOptions& options) {
  return complaint([&] { check_built_in(options); });
}

TEST(BuiltIn, NamesPass) {
  EXPECT_EQ(refusal({.model = "llama-3.1-8b", .gpu = "H100 SXM", .engine = "vllm-0.19"}), "");
  EXPECT_EQ(refusal({}), "");
}

TEST(BuiltIn, FilesDoNot) {
  EXPECT_THAT(refusal({.model = "/etc/passwd"}), HasSubstr("model: no built-in model"));
  EXPECT_THAT(refusal({.gpu = "h100.json"}), HasSubstr("gpu: "));
  EXPECT_THAT(refusal({.gpu = "./h100"}), HasSubstr("gpu: "));
  EXPECT_THAT(refusal({.engine = "ours.json"}), HasSubstr("engine: "));
  EXPECT_THAT(refusal({.engine = "../ours"}), HasSubstr("engine: "));
}

TEST(BuiltIn, AFileInTheCurrentFolderMayNotHideAModel) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  const TemporaryFolder folder;
  fs::current_path(folder.path());
  std::ofstream("llama-3.1-8b") << "{}";
  EXPECT_THAT(refusal({.model = "llama-3.1-8b"}), HasSubstr("hides the model"));
  fs::current_path(before);
}

TEST(BuiltIn, ListsEveryEnginePreset) {
  const std::vector<EngineListEntry> engines = list_engines();
  EXPECT_EQ(std::ranges::count_if(engines, &EngineListEntry::is_default), 1);
  for (const EngineListEntry& engine : engines) EXPECT_NE(engine.summary, "") << engine.name;
}

}  // namespace
}  // namespace roofcast::test

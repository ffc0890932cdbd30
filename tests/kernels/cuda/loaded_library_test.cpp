#include "kernels/cuda/loaded_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "kernels/cuda/nvml.hpp"

namespace roofcast::kernels::cuda {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// An empty folder for this test, removed with it.
class Folder {
 public:
  Folder()
      : path_(fs::path(testing::TempDir()) /
              (testing::UnitTest::GetInstance()->current_test_info()->name() +
               std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string add(const std::string& file) const {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << "not a library";
    return (path_ / file).string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string failure(const LibraryName& library, const LibraryPlaces& places) {
  try {
    const LoadedLibrary loaded(library, places);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// The C mathematics library: on every Linux machine, though not in the folders that are searched.
const LibraryName kMath{.name = "mathematics", .files = {"libm.so.6"}};

TEST(LoadedLibrary, GivesTheFunctionsOfALibraryThatIsThere) {
  const LoadedLibrary library(kMath, {});
  EXPECT_EQ(library.path(), "libm.so.6");
  EXPECT_DOUBLE_EQ(library.function<double(double)>("cbrt")(27), 3);
}

TEST(LoadedLibrary, SaysWhichFunctionIsMissing) {
  const LoadedLibrary library(kMath, {});
  try {
    library.function<void()>("no_such_function");
    FAIL() << "did not throw";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "mathematics (libm.so.6) has no function no_such_function");
  }
}

TEST(LoadedLibrary, SaysInOneLineThatALibraryIsMissing) {
  const std::string text = failure({.name = "cuXYZ", .files = {"libcuxyz.so.1"}}, {});
  EXPECT_THAT(text, testing::StartsWith("cuXYZ could not be opened: libcuxyz.so.1"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

TEST(LoadedLibrary, SaysWhyAFileThatIsThereDoesNotOpen) {
  const Folder folder;
  const std::string file = folder.add("libcuxyz.so.1");
  const std::string text =
      failure({.name = "cuXYZ", .files = {"libcuxyz.so.1"}}, {.folders = folder.path()});
  EXPECT_THAT(text, HasSubstr(file));
}

TEST(LoadedLibrary, LooksOnWhenTheFirstFileDoesNotOpen) {
  const Folder folder;
  folder.add("libm.so.6");
  EXPECT_EQ(LoadedLibrary(kMath, {.folders = folder.path()}).path(), "libm.so.6");
}

TEST(LoadedLibrary, LooksInGivenFoldersThenOnTheLoadersPathThenInPythonsWheels) {
  const Folder folder;
  const std::string given = folder.add("given/libcuxyz.so.2");
  const std::string wheel =
      folder.add("env/lib/python3.12/site-packages/nvidia/cuxyz/lib/libcuxyz.so.1");
  const std::vector<std::string> candidates =
      library_candidates({.name = "cuXYZ", .files = {"libcuxyz.so.1", "libcuxyz.so.2"}},
                         {.folders = folder.path() + "/absent:" + folder.path() + "/given",
                          .python_prefix = folder.path() + "/env"});
  EXPECT_THAT(candidates, ElementsAre(given, "libcuxyz.so.1", "libcuxyz.so.2", wheel));
}

// The toolkit's libraries open without a driver; machines without them skip the test.
#define OPEN_OR_SKIP(library, wanted)                                   \
  std::unique_ptr<LoadedLibrary> library;                               \
  try {                                                                 \
    library = std::make_unique<LoadedLibrary>(wanted, LibraryPlaces{}); \
  } catch (const std::runtime_error& error) {                           \
    GTEST_SKIP() << error.what();                                       \
  }                                                                     \
  static_assert(true)

TEST(LoadedLibrary, FindsCublasLtWithoutADriver) {
  OPEN_OR_SKIP(library, cublaslt_name());
  EXPECT_GE(library->function<std::size_t()>("cublasLtGetVersion")(), 120000U);
}

TEST(LoadedLibrary, FindsCudnnWithoutADriver) {
  OPEN_OR_SKIP(library, cudnn_name());
  EXPECT_GE(library->function<std::size_t()>("cudnnGetVersion")(), 90000U);
}

TEST(LoadedLibrary, FindsNcclWithoutADriver) {
  OPEN_OR_SKIP(library, nccl_name());
  int version = 0;
  EXPECT_EQ(library->function<int(int*)>("ncclGetVersion")(&version), 0);
  EXPECT_GE(version, 20000);
}

TEST(Nvml, WithoutALibraryOrForAnUnknownGpuEveryAnswerIsAbsent) {
  const Nvml nvml("GPU-00000000-0000-0000-0000-000000000000");
  EXPECT_FALSE(nvml.answers());
  EXPECT_NE(nvml.why_not(), "");
  EXPECT_EQ(nvml.power_w(), std::nullopt);
  EXPECT_EQ(nvml.power_limit_w(), std::nullopt);
  EXPECT_EQ(nvml.energy_joule(), std::nullopt);
  EXPECT_EQ(nvml.sm_clock_hz(), std::nullopt);
  EXPECT_EQ(nvml.memory_clock_hz(), std::nullopt);
  EXPECT_EQ(nvml.max_sm_clock_hz(), std::nullopt);
  EXPECT_EQ(nvml.temperature_celsius(), std::nullopt);
  EXPECT_FALSE(nvml.reasons().has_value());
}

TEST(Nvml, ReadsWhyClocksAreLow) {
  EXPECT_FALSE(clock_reasons(0).throttled());
  EXPECT_FALSE(clock_reasons(0x1).throttled());  // idle
  EXPECT_TRUE(clock_reasons(0x4).power_cap);
  EXPECT_FALSE(clock_reasons(0x4).temperature);
  EXPECT_TRUE(clock_reasons(0x20).temperature);
  EXPECT_TRUE(clock_reasons(0x40).temperature);
  EXPECT_TRUE(clock_reasons(0x40).hardware);
  EXPECT_TRUE(clock_reasons(0x80).hardware);
}

}  // namespace
}  // namespace roofcast::kernels::cuda

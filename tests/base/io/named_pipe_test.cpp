// Inputs that are not regular files.
#include "base/io/named_pipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"

namespace roofcast::test {
namespace {

TEST(NamedPipe, IsRefusedInsteadOfWaitedFor) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("pipe." + std::to_string(getpid()))).string();
  ASSERT_EQ(mkfifo(path.c_str(), S_IRUSR | S_IWUSR), 0);
  EXPECT_THAT([&] { ByteSource{path}; },
              testing::ThrowsMessage<Error>(path + ": is a named pipe, expected a file"));
  std::filesystem::remove(path);
}

TEST(NamedPipe, ThePipeOfAShellIsReadLikeAFile) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_NO_THROW(refuse_named_pipe("/dev/fd/" + std::to_string(ends[0])));
  close(ends[0]);
  close(ends[1]);
}

TEST(NamedPipe, FilesAndWhatIsNotThereAreNone) {
  EXPECT_NO_THROW(refuse_named_pipe("/proc/self/exe"));
  EXPECT_NO_THROW(refuse_named_pipe("no such file"));
}

}  // namespace
}  // namespace roofcast::test

#include "base/io/named_pipe.hpp"

#include <filesystem>
#include <system_error>

#include "base/error.hpp"

namespace roofcast {

void refuse_named_pipe(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_fifo(path, failure)) return;
  // "/dev/fd/63" resolves to "pipe:[4711]", which is in no folder.
  const auto place = std::filesystem::canonical(path, failure);
  if (failure) return;
  throw Error(path + ": is a named pipe, expected a file");
}

}  // namespace roofcast

// Runs a program to its end and captures its output.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace roofcast::test {

struct ProcessResult {
  int status = 0;  // 0: it ended well
  std::string output{};
};

/// `line` is run by the shell.
inline ProcessResult run_process(const std::string& line) {
  ProcessResult result;
  std::FILE* pipe = popen(line.c_str(), "r");  // NOLINT(cert-env33-c): the tests' own program
  if (pipe == nullptr) {
    ADD_FAILURE() << "cannot run " << line;
    return {.status = -1};
  }
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), count);
  }
  result.status = pclose(pipe);
  return result;
}

}  // namespace roofcast::test

// Measured data and public traces that some tests read if present. They are not part of the
// project; a test that needs them is skipped, with the reason, if they are absent.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace roofcast::test {

inline std::filesystem::path shared_data(const std::string& relative) {
  return std::filesystem::path(ROOFCAST_SHARED_DATA) / relative;
}

}  // namespace roofcast::test

/// Skips the test if `relative` is not under ../shared/data.
#define SKIP_WITHOUT_SHARED_DATA(relative)                                          \
  if (!std::filesystem::exists(::roofcast::test::shared_data(relative))) {          \
    GTEST_SKIP() << "needs ../shared/data/" << (relative) << ", which is not here"; \
  }                                                                                 \
  static_assert(true)

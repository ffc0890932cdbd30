// Errors of check(), so that a test can name their words.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace roofcast::kernels::test {

/// The message with which check() rejects a contract; empty if it accepts it.
template <class Contract>
std::string refusal(const Contract& contract) {
  try {
    check(contract);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

/// Expects that `good` is accepted, and rejected with `words` after `change`.
template <class Contract, class Change>
void expect_refused(const Contract& good, Change change, const std::string& words) {
  EXPECT_EQ(refusal(good), "");
  Contract bad = good;
  change(bad);
  EXPECT_THAT(refusal(bad), testing::HasSubstr(words));
}

}  // namespace roofcast::kernels::test

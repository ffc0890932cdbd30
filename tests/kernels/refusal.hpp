// What check() says to a contract, so that a test can name the words.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace roofcast::kernels::test {

/// The words with which check() refuses a contract; empty when it does not.
template <class Contract>
std::string refusal(const Contract& contract) {
  try {
    check(contract);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

/// Expects that `good` is taken, and that it is refused with `words` once `change` is made to it.
template <class Contract, class Change>
void expect_refused(const Contract& good, Change change, const std::string& words) {
  EXPECT_EQ(refusal(good), "");
  Contract bad = good;
  change(bad);
  EXPECT_THAT(refusal(bad), testing::HasSubstr(words));
}

}  // namespace roofcast::kernels::test

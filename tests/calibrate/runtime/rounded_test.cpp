// The bound of rounded_models.hpp holds for a device whose only error is rounding.
#include <gtest/gtest.h>

#include "tests/calibrate/runtime/rounded_models.hpp"

namespace roofcast::test {
namespace {

TEST(RoundedEngine, GeneratesLikelyTokens) {
  ReferenceBackend backend;
  expect_likely_tokens(backend, rounded_dense(kernels::Element::bf16));
}

TEST(RoundedEngine, GeneratesLikelyTokensByExperts) {
  ReferenceBackend backend;
  expect_likely_tokens(backend, rounded_experts(kernels::Element::bf16));
}

}  // namespace
}  // namespace roofcast::test

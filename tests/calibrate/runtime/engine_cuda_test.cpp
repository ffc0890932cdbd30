// The small engine on a GPU: all operators of a model together, in prompts, recorded decodes and
// mixed steps.
#include <gtest/gtest.h>

#include "kernels/cuda/cuda_backend.hpp"
#include "tests/calibrate/runtime/rounded_models.hpp"

namespace roofcast::test {
namespace {

using kernels::Element;

class EngineCuda : public testing::TestWithParam<Element> {
 protected:
  void SetUp() override {
    if (const auto why = kernels::why_no_cuda_device()) GTEST_SKIP() << *why;
    backend_ = kernels::make_cuda_backend();
  }
  std::unique_ptr<kernels::Backend> backend_;
};

TEST_P(EngineCuda, GeneratesLikelyTokens) {
  expect_likely_tokens(*backend_, rounded_dense(GetParam()));
}

TEST_P(EngineCuda, GeneratesLikelyTokensByExperts) {
  expect_likely_tokens(*backend_, rounded_experts(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Elements, EngineCuda, testing::Values(Element::bf16, Element::fp16),
                         [](const auto& element) {
                           return std::string(kernels::name_of(element.param));
                         });

}  // namespace
}  // namespace roofcast::test

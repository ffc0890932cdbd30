#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "tests/kernels/attention_case.hpp"
#include "tests/kernels/attention_tolerance.hpp"
#include "tests/kernels/cuda/cuda_device.hpp"
#include "tests/kernels/cuda/cuda_place.hpp"

namespace roofcast::kernels {
namespace {

int multiprocessors() {
  int device = 0;
  int count = 0;
  ROOFCAST_CUDA_CHECK(cudaGetDevice(&device));
  ROOFCAST_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

class PrefillCuda : public testing::TestWithParam<test::AttentionShape> {};

TEST_P(PrefillCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::PrefillCase c(GetParam());
  test::DevicePlace device;
  const PrefillAttention attention = problem(c, device);
  if (!cuda::supports_prefill_attention(attention)) GTEST_SKIP() << "no kernel for the shape";
  cuda::launch_prefill_attention(attention, nullptr);
  device.copy_back();
  expect_answer(c, test::tensor_core_tolerance(attention.element));
}

INSTANTIATE_TEST_SUITE_P(Bf16, PrefillCuda, testing::ValuesIn(test::prefill_shapes(Element::bf16)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Fp16, PrefillCuda, testing::ValuesIn(test::prefill_shapes(Element::fp16)),
                         testing::PrintToStringParamName());

class DecodeCuda : public testing::TestWithParam<test::AttentionShape> {};

/// With the whole device, and as if it had one multiprocessor, so that a CTA does several items.
TEST_P(DecodeCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  for (const int share : {multiprocessors(), 1}) {
    SCOPED_TRACE(share);
    test::DecodeCase c(GetParam());
    test::DevicePlace device;
    const DecodeAttention attention = problem(c, device);
    if (!cuda::supports_decode_attention(attention)) GTEST_SKIP() << "no kernel for the shape";
    cuda::launch_decode_attention(attention, share, nullptr);
    device.copy_back();
    expect_answer(c, test::tensor_core_tolerance(attention.element));
  }
}

INSTANTIATE_TEST_SUITE_P(Bf16, DecodeCuda, testing::ValuesIn(test::decode_shapes(Element::bf16)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Fp16, DecodeCuda, testing::ValuesIn(test::decode_shapes(Element::fp16)),
                         testing::PrintToStringParamName());

class LatentCuda : public testing::TestWithParam<test::LatentShape> {};

TEST_P(LatentCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  for (const int share : {multiprocessors(), 1}) {
    SCOPED_TRACE(share);
    test::LatentCase c(GetParam());
    test::DevicePlace device;
    const LatentDecode attention = problem(c, device);
    if (!cuda::supports_latent_decode(attention)) GTEST_SKIP() << "no kernel for the shape";
    cuda::launch_latent_decode(attention, share, nullptr);
    device.copy_back();
    expect_answer(c, test::tensor_core_tolerance(attention.element));
  }
}

INSTANTIATE_TEST_SUITE_P(Bf16, LatentCuda, testing::ValuesIn(test::latent_shapes(Element::bf16)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Fp16, LatentCuda, testing::ValuesIn(test::latent_shapes(Element::fp16)),
                         testing::PrintToStringParamName());

TEST(AttentionCuda, RefusesABadProblemWithoutTouchingTheDevice) {
  EXPECT_THROW(cuda::launch_prefill_attention({}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_decode_attention({}, 1, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_latent_decode({}, 1, nullptr), std::invalid_argument);
}

TEST(AttentionCuda, SaysWhatItDoesNotTake) {
  test::DecodeCase c({.name = "", .element = Element::fp32, .cache = Element::fp32, .length = {3}});
  test::HostPlace host;
  EXPECT_FALSE(cuda::supports_decode_attention(problem(c, host)));
  EXPECT_THROW(cuda::launch_decode_attention(problem(c, host), 1, nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast::kernels

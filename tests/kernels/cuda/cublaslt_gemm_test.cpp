#include "kernels/cuda/cublaslt_gemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "kernels/cuda/integer_result.hpp"
#include "tests/kernels/cuda/cuda_device.hpp"
#include "tests/kernels/cuda/cuda_place.hpp"
#include "tests/kernels/gemm_case.hpp"

namespace roofcast::kernels {
namespace {

cuda::CublasLtDevice this_device() {
  int major = 0;
  int minor = 0;
  int l2_bytes = 0;
  ROOFCAST_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  ROOFCAST_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  ROOFCAST_CUDA_CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0));
  return {.compute_capability = 10 * major + minor, .l2_bytes = l2_bytes};
}

/// Hopper's tensor cores keep 14 bits of an fp8 sum (DeepSeek-V3, arXiv 2412.19437, 3.3.2): each
/// step of 32 products and the running sum is truncated at 2^-13 of its largest term. With normal
/// operands that term has the size of about 8 products, and all terms together 32 * 2 / pi = 20: 33
/// * 2^-13 * 8 / 20 < 2^-9.
double sum_error(const test::GemmShape& shape) {
  return test::fp32_sum_error(shape.k) + (shape.element == Element::fp8_e4m3 ? 0x1p-9 : 0);
}

std::vector<test::GemmShape> all_shapes() {
  std::vector<test::GemmShape> shapes = test::scaled_gemm_shapes();
  for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
    for (const test::GemmShape& shape : test::plain_gemm_shapes(element)) shapes.push_back(shape);
  }
  return shapes;
}

class CublasLtGemm : public testing::TestWithParam<test::GemmShape> {};

TEST_P(CublasLtGemm, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  cuda::CublasLtGemm library({}, this_device());
  test::GemmCase c(GetParam());
  test::DevicePlace place;
  const Gemm gemm = problem(c, place);
  if (!library.supports(gemm)) GTEST_SKIP() << "cuBLASLt has no algorithm for it here";
  library.prepare(gemm, nullptr);
  library.launch(gemm, nullptr);
  place.copy_back();
  test::expect_answer(c, sum_error(c.shape));
}

INSTANTIATE_TEST_SUITE_P(Shapes, CublasLtGemm, testing::ValuesIn(all_shapes()),
                         testing::PrintToStringParamName());

TEST(CublasLtGemm, ChoosesAmongAlgorithmsForATransformersShapes) {
  SKIP_WITHOUT_CUDA_DEVICE();
  cuda::CublasLtGemm library({}, this_device());
  for (const std::int64_t m : {1, 16, 200}) {
    test::GemmCase c({Element::bf16, Element::bf16, GemmScale::none, m, 1024, 1024});
    test::DevicePlace place;
    const Gemm gemm = problem(c, place);
    ASSERT_TRUE(library.supports(gemm));
    library.launch(gemm, nullptr);  // by the library's own choice
    place.copy_back();
    test::expect_answer(c, sum_error(c.shape));
    library.prepare(gemm, nullptr);
    library.prepare(gemm, nullptr);  // a second time keeps the choice
    library.launch(gemm, nullptr);
    place.copy_back();
    test::expect_answer(c, sum_error(c.shape));
  }
}

TEST(CublasLtGemm, WantsAnInt8ProductPrepared) {
  SKIP_WITHOUT_CUDA_DEVICE();
  cuda::CublasLtGemm library({}, this_device());
  test::GemmCase c({Element::int8, Element::bf16, GemmScale::tensor, 16, 64, 64});
  test::DevicePlace place;
  const Gemm gemm = problem(c, place);
  if (!library.supports(gemm)) GTEST_SKIP() << "cuBLASLt has no algorithm for it here";
  EXPECT_THROW(library.launch(gemm, nullptr), std::runtime_error);
}

TEST(CublasLtGemm, WithoutADeviceSaysSo) {
  if (test::why_no_device().empty()) GTEST_SKIP() << "there is a device";
  try {
    const cuda::CublasLtGemm library({}, {});
    FAIL() << "did not throw";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("cuBLASLt"));
  }
}

TEST(CublasLtVersion, IsReadFromItsNumber) {
  EXPECT_EQ(cuda::cublaslt_version_text(130100), "13.1.0");
  EXPECT_EQ(cuda::cublaslt_version_text(120803), "12.8.3");
}

class IntegerResult : public testing::TestWithParam<Element> {};

/// Three roundings of fp32: of the sum, of the product of the scales, of their product.
TEST_P(IntegerResult, ScalesAndRounds) {
  SKIP_WITHOUT_CUDA_DEVICE();
  std::mt19937 random(test::fresh_seed());
  std::uniform_int_distribution<std::int32_t> uniform(-30'000'000, 30'000'000);
  test::Array<std::int32_t> sums(1044);
  for (std::size_t i = 0; i < sums.size(); ++i) sums.set(i, uniform(random));
  test::Array<float> scales(std::vector<float>{2e-3F, 3e-3F});  // to 180: beyond int8
  test::Tensor output(GetParam(), sums.size());
  test::DevicePlace place;
  const float* scale = at(place, scales);
  cuda::launch_integer_result({.result = GetParam(),
                               .count = static_cast<std::int64_t>(sums.size()),
                               .sums = at(place, sums),
                               .input_scale = scale,
                               .weight_scale = scale + 1,
                               .output = place.at(output)},
                              nullptr);
  place.copy_back();
  std::vector<double> expected;
  for (const std::int32_t sum : sums.values()) {
    const double value = sum * double{scales.get(0)} * double{scales.get(1)};
    const bool saturates = GetParam() == Element::int8;
    expected.push_back(saturates ? std::clamp(value, -128.0, 127.0) : value);
  }
  test::expect_close(output, expected,
                     [&](std::size_t i) { return 3 * test::kUnit * std::abs(expected[i]); });
}

INSTANTIATE_TEST_SUITE_P(Elements, IntegerResult,
                         testing::Values(Element::fp32, Element::fp16, Element::bf16,
                                         Element::int8),
                         [](const auto& element) { return std::string(name_of(element.param)); });

TEST(IntegerResult, RefusesWhatItCannotWrite) {
  EXPECT_THROW(cuda::launch_integer_result({.count = 2}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_integer_result({.result = Element::fp8_e4m3}, nullptr),
               std::invalid_argument);
  EXPECT_THROW(cuda::launch_integer_result({.count = 4}, nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast::kernels

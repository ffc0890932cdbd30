#include <gtest/gtest.h>

#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/device_buffer.hpp"
#include "kernels/cuda/rms_norm.hpp"
#include "tests/kernels/cuda/cuda_device.hpp"
#include "tests/kernels/rms_norm_case.hpp"

namespace roofcast::kernels {
namespace {

cuda::DeviceBuffer on_device(const test::Tensor& tensor) {
  cuda::DeviceBuffer buffer(tensor.bytes_with_guard());
  buffer.copy_from_host(tensor.data(), tensor.bytes_with_guard());
  return buffer;
}

class RmsNormCuda : public testing::TestWithParam<test::RmsNormShape> {};

TEST_P(RmsNormCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::RmsNormCase c(GetParam());
  const bool with_residual = c.shape.with_residual;
  const cuda::DeviceBuffer input = on_device(c.input);
  const cuda::DeviceBuffer residual = on_device(c.residual);
  const cuda::DeviceBuffer weight = on_device(c.weight);
  cuda::DeviceBuffer residual_out = on_device(c.residual_out);
  cuda::DeviceBuffer output = on_device(c.output);
  const RmsNorm norm{.element = c.shape.element,
                     .rows = c.shape.rows,
                     .hidden = c.shape.hidden,
                     .epsilon = 1e-6F,
                     .input = input.data(),
                     .residual = with_residual ? residual.data() : nullptr,
                     .weight = weight.data(),
                     .residual_out = with_residual ? residual_out.data() : nullptr,
                     .output = output.data()};
  cuda::launch_rms_norm(norm, nullptr);
  ROOFCAST_CUDA_CHECK(cudaDeviceSynchronize());
  output.copy_to_host(c.output.data(), c.output.bytes_with_guard());
  residual_out.copy_to_host(c.residual_out.data(), c.residual_out.bytes_with_guard());
  test::expect_answer(c, norm.epsilon);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RmsNormCuda, testing::ValuesIn(test::rms_norm_shapes()),
                         testing::PrintToStringParamName());

TEST(RmsNormCuda, RefusesABadShapeWithoutTouchingTheDevice) {
  EXPECT_THROW(cuda::launch_rms_norm(RmsNorm{}, nullptr), std::invalid_argument);
}

TEST(CudaCheck, NamesTheCallThatFailed) {
  try {
    ROOFCAST_CUDA_CHECK(cudaErrorInvalidValue);
    FAIL() << "did not throw";
  } catch (const cuda::CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidValue);
    EXPECT_NE(std::string(error.what()).find("rms_norm_test.cpp"), std::string::npos);
  }
}

}  // namespace
}  // namespace roofcast::kernels

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/device_buffer.hpp"
#include "kernels/cuda/device_copy.hpp"
#include "tests/kernels/cuda/cuda_device.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels {
namespace {

/// Copies `bytes` random bytes and compares all of them, and the poison after them.
void expect_copied(std::int64_t bytes, std::mt19937& random) {
  int multiprocessors = 0;
  ROOFCAST_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  std::vector<unsigned char> host(static_cast<std::size_t>(bytes) + test::kGuardBytes);
  for (unsigned char& byte : host) byte = static_cast<unsigned char>(random());
  cuda::DeviceBuffer source(host.size());
  cuda::DeviceBuffer destination(host.size());
  source.copy_from_host(host.data(), host.size());
  ROOFCAST_CUDA_CHECK(cudaMemset(destination.data(), test::kPoison, destination.size()));
  cuda::launch_device_copy({.source = source.data(),
                            .destination = destination.data(),
                            .bytes = bytes,
                            .multiprocessors = multiprocessors},
                           nullptr);
  std::vector<unsigned char> copied(host.size());
  destination.copy_to_host(copied.data(), copied.size());
  std::fill(host.begin() + bytes, host.end(), test::kPoison);
  EXPECT_EQ(copied, host) << bytes << " bytes";
}

TEST(DeviceCopyCuda, CopiesEveryByteAndNoMore) {
  SKIP_WITHOUT_CUDA_DEVICE();
  std::mt19937 random(test::fresh_seed());
  for (const std::int64_t bytes : {0, 1, 15, 16, 17, 4096, 1 << 20, (1 << 25) + 13}) {
    expect_copied(bytes, random);
  }
}

TEST(DeviceCopyCuda, RefusesBadParametersWithoutTouchingTheDevice) {
  alignas(16) char memory[32] = {};
  const cuda::DeviceCopy good{
      .source = memory, .destination = memory + 16, .bytes = 16, .multiprocessors = 1};
  cuda::DeviceCopy negative = good;
  negative.bytes = -1;
  cuda::DeviceCopy crooked = good;
  crooked.source = memory + 1;
  cuda::DeviceCopy nowhere = good;
  nowhere.destination = nullptr;
  for (const cuda::DeviceCopy& bad : {negative, crooked, nowhere, cuda::DeviceCopy{}}) {
    EXPECT_THROW(cuda::launch_device_copy(bad, nullptr), std::invalid_argument);
  }
}

}  // namespace
}  // namespace roofcast::kernels

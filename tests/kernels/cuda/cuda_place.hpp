// Places a test case's operands on a CUDA device (HostPlace of tests/kernels/tensors.hpp is the
// host counterpart).
#pragma once

#include <deque>

#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/device_buffer.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels::test {

class DevicePlace {
 public:
  void* at(Storage& storage) {
    for (Copy& copy : copies_) {
      if (copy.host == &storage) return copy.device.data();
    }
    Copy& copy = copies_.emplace_back(
        Copy{.host = &storage, .device = cuda::DeviceBuffer(storage.bytes_with_guard())});
    copy.device.copy_from_host(storage.data(), storage.bytes_with_guard());
    return copy.device.data();
  }

  /// Waits for the kernels, then copies everything back, guards included.
  void copy_back() {
    ROOFCAST_CUDA_CHECK(cudaDeviceSynchronize());
    for (const Copy& copy : copies_) {
      copy.device.copy_to_host(copy.host->data(), copy.host->bytes_with_guard());
    }
  }

 private:
  struct Copy {
    Storage* host;
    cuda::DeviceBuffer device;
  };
  std::deque<Copy> copies_;  // addresses stay where they are
};

/// Builds the case's problem on the device, launches it there and compares with the reference.
template <class Case, class Launch>
void expect_agreement_on_device(Case& c, const Launch& launch) {
  DevicePlace place;
  launch(problem(c, place));
  place.copy_back();
  expect_answer(c);
}

}  // namespace roofcast::kernels::test

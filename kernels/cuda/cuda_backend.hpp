// An NVIDIA GPU as a device (kernels/backend.hpp). Plain C++, also in a build without CUDA: then
// there is never a device.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/backend.hpp"
#include "kernels/cuda/loaded_library.hpp"

namespace roofcast::kernels {

/// Why GPU number `device` cannot be used, in one sentence without a full stop; absent when it can.
std::optional<std::string> why_no_cuda_device(int device = 0);

/// Throws std::runtime_error with that sentence when it cannot be used. `places`: where cuBLASLt,
/// cuDNN and NCCL may lie besides the usual places; kernels of a library that is not found are left
/// out of the backend's sources.
std::unique_ptr<Backend> make_cuda_backend(int device = 0, const cuda::LibraryPlaces& places = {});

}  // namespace roofcast::kernels

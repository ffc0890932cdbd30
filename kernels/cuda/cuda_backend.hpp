// An NVIDIA GPU as a device (kernels/backend.hpp). Plain C++ that also compiles without CUDA; then
// there is never a device.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/backend.hpp"
#include "kernels/cuda/loaded_library.hpp"

namespace roofcast::kernels {

/// Why GPU number `device` cannot be used, in one sentence without a full stop; absent if it can.
std::optional<std::string> why_no_cuda_device(int device = 0);

/// Throws std::runtime_error with that sentence if the GPU cannot be used. `places`: additional
/// places to look for cuBLASLt, cuDNN and NCCL; a library that is not found is missing from the
/// backend's sources.
std::unique_ptr<Backend> make_cuda_backend(int device = 0, const cuda::LibraryPlaces& places = {});

}  // namespace roofcast::kernels

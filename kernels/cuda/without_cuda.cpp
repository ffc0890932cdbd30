// The CUDA device of a build without CUDA.
#include <stdexcept>

#include "kernels/cuda/cuda_backend.hpp"

namespace roofcast::kernels {

std::optional<std::string> why_no_cuda_device(int /*device*/) {
  return "this program was built without CUDA";
}

std::unique_ptr<Backend> make_cuda_backend(int device, const cuda::LibraryPlaces& /*places*/) {
  throw std::runtime_error(*why_no_cuda_device(device));
}

}  // namespace roofcast::kernels

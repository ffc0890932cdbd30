#include "calibrate/machine.hpp"

#include <stdexcept>

#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/loaded_library.hpp"

namespace roofcast {
namespace {

constexpr int kMaxGpus = 64;  // more than any node has

struct Wanted {
  kernels::cuda::LibraryName library;
  const char* used_for;
};

OptionalLibrary looked_for(const Wanted& wanted) {
  OptionalLibrary found{.name = wanted.library.name, .used_for = wanted.used_for};
  try {
    found.path = kernels::cuda::LoadedLibrary(wanted.library, {}).path();
  } catch (const std::runtime_error&) {  // it is not there
  }
  return found;
}

}  // namespace

Machine this_machine() {
  Machine machine{.cpu = kernels::make_cpu_backend(0)->facts()};
  for (int i = 0; i < kMaxGpus; ++i) {
    if (const auto why = kernels::why_no_cuda_device(i)) {
      if (i == 0) machine.why_no_gpu = *why;
      break;
    }
    machine.gpus.push_back(kernels::make_cuda_backend(i)->facts());
  }
  const Wanted wanted[] = {{kernels::cuda::cublaslt_name(), "matrix products"},
                           {kernels::cuda::cudnn_name(), "a second source of attention"},
                           {kernels::cuda::nccl_name(), "what GPUs send each other"}};
  for (const Wanted& one : wanted) machine.gpu_libraries.push_back(looked_for(one));
  return machine;
}

}  // namespace roofcast

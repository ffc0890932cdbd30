// Launches the kernel that merges partial results (attention_parts.hpp): one CTA per row. Bytes:
// the parts once, little compared with keys and values.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/attention_parts.hpp"
#include "kernels/cuda/cuda_check.hpp"

namespace roofcast::kernels::cuda {

template <class T>
__global__ void __launch_bounds__(kJoinThreads)
    join_kernel(const __grid_constant__ JoinArguments join) {
  join_parts<T>(join);
}

/// Runs after a kernel of `ctas` CTAs that wrote the parts. On sm_90 it is set up while that one
/// runs ("programmatic dependent launch") and itself waits for its end.
template <class T>
void launch_join(const JoinArguments& join, std::int64_t rows, int ctas, cudaStream_t stream) {
  constexpr int kFirstWithDependentLaunch = 9;
  int device = 0;
  int major = 0;
  ROOFCAST_CUDA_CHECK(cudaGetDevice(&device));
  ROOFCAST_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));

  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(rows));
  config.blockDim = dim3(kJoinThreads);
  config.dynamicSmemBytes = join_shared_bytes(ctas);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = major >= kFirstWithDependentLaunch ? 1 : 0;
  ROOFCAST_CUDA_CHECK(cudaLaunchKernelEx(&config, join_kernel<T>, join));
}

}  // namespace roofcast::kernels::cuda

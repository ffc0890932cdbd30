// Launch of the kernel that joins partial results (attention_parts.hpp): one CTA a row. Bytes: the
// parts once, which is little beside keys and values.
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

/// After a kernel of `ctas` CTAs that left the parts. On sm_90 it is set up while that one runs
/// ("programmatic dependent launch") and waits for its end by itself.
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

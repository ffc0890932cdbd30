// Start offsets of the rows of a ragged batch, in the form that libraries need: a helper of cuDNN's
// prefill.
#pragma once

#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

struct RaggedOffsets {
  int sequences = 0;
  const std::int32_t* first_query = nullptr;  // [sequences + 1], rows
  std::int64_t query_stride = 0;              // elements from one row to the next
  std::int64_t output_stride = 0;
  std::int32_t* query_length = nullptr;   // [sequences]
  std::int64_t* query_offset = nullptr;   // [sequences + 1], elements
  std::int64_t* output_offset = nullptr;  // [sequences + 1]
};

/// Queues the kernel on `stream`; all pointers are device memory. Bytes: about 20 per sequence.
void launch_ragged_offsets(const RaggedOffsets& offsets, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
